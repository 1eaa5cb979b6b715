type Json = Record<string, unknown>;

/** An element with one thing changed. */
export interface Mutant {
  what: string;
  /** The member of the element that was changed. */
  member: string;
  element: Json;
}

/** Values of every kind, and values at the limits of what members allow. */
const valueTable = `
null, true, false, "true", "", " ", "a", {}, [], [null], [[]], [{}]
0, -0, 1, 2, 3, 16, 17, -1, 0.5, 1.0000001, -0.0000001, 1e-300, 1e300, 9007199254740992, "1", "1.5"
"#fff", "#FFF", "#abcd", "#aBcDeF", "#12345678", "#", "#12", "#12345", "#1234567", "#123456789", "#ggg", "fff", " #fff", "#fff "
"#fff\\n", "#ff f", "\uff03fff", "red", "transparent", "hsl(1,2,3)"
"rgb(0,0,0)", "rgb(255, 255, 255)", "rgb(1,\\t2,  3)", "rgb(256,0,0)", "rgb(-1,0,0)", "rgb(1.5,0,0)", "rgb(1,2)", "rgb(1,2,3,4)"
"rgb( 1,2,3)", "rgb(1 ,2,3)", "rgb(1,2,3 )", "rgb (1,2,3)", "RGB(1,2,3)", "rgb(1,2,3", "rgb(1,,3)", "rgb(\u0661,2,3)", "rgb(10%,0,0)"
"rgba(1,2,3,0)", "rgba(1,2,3,1)", "rgba(1,2,3,.5)", "rgba(1, 2, 3, 0.25)", "rgba(1,2,3,1.0)", "rgba(1,2,3,1.00)", "rgba(1,2,3,0.0)"
"rgba(1,2,3,1.01)", "rgba(1,2,3,2)", "rgba(1,2,3,-0.1)", "rgba(1.5,0,0,1)", "rgba(1,2,3)", "rgba(1,2,3,0.)", "rgba(1,2,3,.)"
"rgba(1,2,3,50%)", "rgba(1,2,3,1e-1)", "rgba(1,2,3,0.5 )", "rgba(1,2,3,0.5,1)", "rgba(1,2,3,10.5)", "rgba(1,2,3,)", "rgba(-1,2,3,1)"
"circle", "triangle", "diamond", "Circle", "square", "circle(1)", "flower", "star", "star()", "flower(1)", "star(16)", "jack(9)"
"flower(0)", "star(17)", "jack(-1)", "star(1.0)", "star(01)", "star( 1)", "star(1) ", "star(100)", "jack(16", "starr(3)"
"heatmap", "contour", "choropleth", "Contour", "hidden", "always", "onhover", "onHover", "new"
"0123456789abcdef01234567", "0123456789ABCDEF01234567", "0123456789abcdef0123456", "0123456789abcdef012345678", "0123456789abcdef0123456g"
"0123456789abcdef01234567\\n", "ffffffffffffffffffffffff"
[0], [0, 0], [1, 2, 3], [1, 2, 3, 4], [1, 2, "3"], [1, 2, null], [1, 2, true], [3, 2, 1], [0, 1, 0], [1, 1, 1], [0.5, 1], [1, 2.5]
["a"], ["#fff"], ["#000", "#fff", "rgb(1,2,3)"], ["#000", "red"], ["#000", 5]
[[1, 2, 3]], [[1, 2, 3], [4, 5, 6]], [[1, 2, 3], [4, 5, 6], [7, 8, 9]], [[1, 2, 3], [4, 5]], [[1, 2, 3], [4, 5, 6, 7]]
[[1, 2, 3, 4]], [[1, 2, 3, 4], [1, 2, 3, null]], [[1, 2, 3, 4, 5]], [[1, 0], [0, 1]], [[1, 0], [0]], [[1, 0], [0, "1"]]
[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]], [[[1, 2, 3], [4, 5, 6]]], [[[1, 2, 3], [4, 5, 6], [7, 8]]], [[[1, 2, 3], [4, 5, 6], 7]]
{"value": ""}, {"value": "a", "visibility": "always", "fontSize": 1e-9, "color": "#fff"}, {"value": "a", "fontSize": 0}, {"value": 5}
{"value": "a", "fontSize": "1"}, {"value": "a", "color": "red"}, {"value": "a", "visibility": "never"}, {"value": "a", "text": "b"}
{"xoffset": 1, "yoffset": -1.5}, {"xoffset": "1"}, {"yoffset": null}, {"zoffset": 1}, {"matrix": [[1, 0], [0, 1]]}
{"matrix": [[1, 0]]}, {"matrix": [[1, 0], [0, 1], [0, 0]]}, {"matrix": [[1, 0, 0], [0, 1, 0]]}, {"matrix": [[1, "0"], [0, 1]]}
[{"fillColor": "#fff"}], [{"fillColor": "#fff", "strokeColor": "#000", "label": "", "description": ""}], [{"strokeColor": "#fff"}]
[{"fillColor": "red"}], [{"fillColor": "#fff", "strokeColor": 5}], [{"fillColor": "#fff", "label": 5}], [{"fillColor": "#fff", "extra": 1}]
{"a": {"b": [1, null, "x"]}}, {"$where": 1, "constructor": 2, "a.b": 3}
`;

const values: readonly unknown[] = [
  ...valueTable
    .trim()
    .split('\n')
    .flatMap((line) => JSON.parse(`[${line}]`) as unknown[]),
  NaN,
  Infinity,
  -Infinity,
  [1, 2, NaN],
  [[1, 2, 3, Infinity]],
];

/** Names of members of all types, and names that no type has. */
const names = `
id label group user type lineColor lineWidth fillColor pattern points center radius width height rotation normal
closed holes widthSubdivisions heightSubdivisions colorRange rangeValues normalizeRange scaleWithZoom gridWidth values
interpretation origin dx dy stepped minColor maxColor serviceId opacity hasAlpha transform categories boundaries
girderId extra Type constructor toString $where
`
  .trim()
  .split(/\s+/)
  .concat('');

const types = 'arrow circle ellipse griddata heatmap point polyline rectangle rectanglegrid image pixelmap text Point polygon'
  .split(' ')
  .concat('');

function withMember(element: Json, member: string, value: unknown): Mutant {
  const shown = typeof value === 'number' ? String(value) : JSON.stringify(value);
  return { what: `${member} = ${shown}`, member, element: { ...element, [member]: value } };
}

function without(element: Json, member: string): Mutant {
  const left = Object.entries(element).filter(([key]) => key !== member);
  return { what: `without ${member}`, member, element: Object.fromEntries(left) };
}

/** The element with each of its members missing, each member of any type with each value, and each type. */
export function mutants(element: Json, allowed: readonly string[]): Mutant[] {
  return [
    ...Object.keys(element).map((member) => without(element, member)),
    // A member that a type does not have is refused whatever its value, so a few values suffice.
    ...names.flatMap((member) =>
      values.filter((_, at) => allowed.includes(member) || at % 19 === 0).map((value) => withMember(element, member, value)),
    ),
    ...types.map((type) => withMember(element, 'type', type)),
  ];
}

/** The element with the change of this number. */
export function mutant(element: Json, choice: number): Mutant {
  const members = Object.keys(element);
  if (choice % 4 === 0) return without(element, members[choice % members.length] as string);
  if (choice % 31 === 1) return withMember(element, 'type', types[choice % types.length]);
  // Most changed members are members that the element has.
  const from = choice % 5 === 0 ? names : members;
  return withMember(element, from[choice % from.length] as string, values[choice % values.length]);
}
