import { actions, button, errorNotice, fill, h, icon, linkButton, showMessage } from '../../dom.js';
import { categoryList, type Category } from '../coloring/category-list.js';
import { fitsAddress, setCategoryColor } from '../coloring/coloring.js';
import { ColoringControls } from '../coloring/coloring-controls.js';
import { displayOf, type Display } from '../annotation-display.js';
import { editsOf, onEdits } from '../edits.js';
import type { EditedGroups } from '../shape-groups.js';
import { groupFilter, requestGroups, type Group } from '../annotation-requests.js';
import { nameOf, type AnnotationRecord } from '../annotation-model.js';
import { commonTexts } from '../../texts.js';
import { annotationTexts } from '../../annotation-texts.js';

/** Ids of annotations whose legends the user has folded. */
const foldedIds: Set<string> = new Set();

interface LegendOptions {
  isOpen: boolean;
  onDisplayChange: (changes: Partial<Display>) => void;
  signal: AbortSignal;
}

/**
 * The legend of an annotation: its groups with colors and counts, which can be hidden, and its opacity. While the annotation is
 * edited, the group of new shapes is chosen here.
 */
export class Legend {
  readonly element: HTMLElement;
  /** The button that shows and hides the legend. */
  readonly foldButton = button('', () => this.#setOpen(this.#isFolded), { icon: 'next', kind: 'fold' });
  readonly #id: string;
  readonly #display: Display;
  #record: AnnotationRecord | null = null;
  /** The groups of the shown version; the group with the most shapes is first. */
  #groups: Group[] = [];
  /** The colors of groups, if shapes have the colors of their groups instead of their own. */
  #groupColors: ReadonlyMap<unknown, string> | null = null;
  /** Version of the annotation whose groups are shown or requested; -1 before the first request. */
  #groupsVersion = -1;
  /** The groups of the annotation while it is edited, which this legend can change; otherwise `null`. */
  #editedGroups: EditedGroups | null = null;
  readonly #opacitySlider = h('input', { type: 'range', min: 0, max: 1, step: 0.05 });
  readonly #message = h('div');
  readonly #groupList = categoryList<string | null>({
    label: commonTexts.groups,
    searchLabel: annotationTexts.findGroup,
    onColor: (group, color) => this.#recolor(group, color),
    makeNameControls: (group, displayName) =>
      this.#editedGroups ? this.#choosableGroupControls(group, displayName) : this.#groupControls(group, displayName),
  });
  readonly #showOrHideAllButtons = actions(
    linkButton(annotationTexts.showAll, () => this.#hideOnly([])),
    linkButton(annotationTexts.hideAll, () => this.#hideOnly(this.#groups.map((group) => group.name))),
  );
  readonly #ownColorsButton = linkButton(annotationTexts.ownColors, () => this.#changeColoring({ colors: [] }));
  readonly #newGroupForm = this.#makeNewGroupForm();
  readonly #body: HTMLElement;
  readonly #coloringControls: ColoringControls;

  constructor(
    { _id: id }: AnnotationRecord,
    private readonly options: LegendOptions,
  ) {
    this.#id = id;
    this.#display = displayOf(id);
    this.#opacitySlider.value = String(this.#display.opacity);
    this.#opacitySlider.addEventListener('input', () => options.onDisplayChange({ opacity: this.#opacitySlider.valueAsNumber }));
    const opacity = h('label.bound.small', h('span', annotationTexts.opacity), this.#opacitySlider);
    const otherControls = [this.#newGroupForm, this.#showOrHideAllButtons, this.#ownColorsButton];
    this.#body = h('div.column', { hidden: true }, opacity, this.#message, this.#groupList.elements, otherControls);
    this.#coloringControls = new ColoringControls({
      currentRecord: () => this.#record,
      currentColoring: () => this.#display.coloring,
      onChange: (newColoring) => {
        options.onDisplayChange({ coloring: newColoring });
        this.#showGroups();
      },
      onGroups: (colors) => {
        this.#groupColors = colors;
        this.#showGroups();
      },
      signal: options.signal,
    });
    this.element = h('div.legend.small', this.#body, h('div.column', this.#coloringControls.elements));
    this.#setOpen(options.isOpen && !foldedIds.has(id), { isChosen: false });
    onEdits(() => this.#editedGroups && this.#showGroups(), options.signal);
  }

  /** Shows another version. Entered texts are kept, and open parts stay open. */
  update(record: AnnotationRecord) {
    this.#record = record;
    const label = annotationTexts.legendOf(nameOf(record));
    Object.assign(this.foldButton, { ariaLabel: label, title: label });
    if (!this.#isFolded || this.#editedGroups) void this.#loadGroups();
    void this.#coloringControls.refresh();
  }

  /** Shows a coloring that was chosen elsewhere. */
  refresh() {
    void this.#coloringControls.refresh();
    this.#showGroups();
  }

  /** Lets the user choose the group of new shapes while the annotation is edited; `null` ends this choice. */
  setEditedGroups(editedGroups: EditedGroups | null) {
    if (editedGroups === this.#editedGroups) return;
    this.#editedGroups = editedGroups;
    this.#newGroupForm.hidden = editedGroups === null;
    if (editedGroups) {
      editedGroups.groups.addReported(this.#groups, true);
      editedGroups.onReported();
      this.#body.hidden = false;
      this.#setOpen(true, { isChosen: false });
    }
    this.#showGroups();
    this.#groupList.recreateRows();
  }

  get #isFolded() {
    return this.foldButton.ariaExpanded !== 'true';
  }

  /** @param options `isChosen`: whether the user has opened or closed the legend, so that this is remembered */
  #setOpen(isOpening: boolean, { isChosen = true } = {}) {
    this.element.hidden = !isOpening;
    this.foldButton.ariaExpanded = String(isOpening);
    if (isChosen && isOpening) foldedIds.delete(this.#id);
    else if (isChosen) foldedIds.add(this.#id);
    if (isOpening) void this.#loadGroups();
  }

  async #loadGroups() {
    const record = this.#record;
    if (record === null || this.#groupsVersion === record._version) return;
    const version = record._version;
    const isFirst = this.#groupsVersion === -1;
    this.#groupsVersion = version;
    const { signal } = this.options;
    try {
      const groups = record._elementCount === 0 ? [] : await requestGroups(record, signal);
      if (this.#groupsVersion !== version) return;
      this.#groups = groups.toSorted((a, b) => b.count - a.count);
      this.#editedGroups?.groups.addReported(this.#groups, isFirst);
      this.#editedGroups?.onReported();
      fill(this.#message);
      this.#showGroups();
    } catch (error) {
      if (this.#groupsVersion !== version || signal.aborted) return;
      this.#groupsVersion = -1;
      fill(this.#message, errorNotice(error));
    }
    this.#body.hidden = false;
  }

  #hideOnly(names: (string | null)[]) {
    this.options.onDisplayChange({ hiddenGroups: new Set(names) });
    fill(this.#message);
    this.#showGroups();
  }

  /** The saved groups and the new groups. Their numbers of shapes include unsaved changes. */
  get #categories(): Category<string | null>[] {
    const groups = this.#editedGroups?.groups;
    const { by, colors } = this.#display.coloring;
    const chosenColors = this.#groupColors ?? (by === null ? new Map(colors) : null);
    const shapeChangesByGroup = groups ? editsOf(this.#id).countShapeChangesByGroup() : new Map<string | null, number>();
    const storedGroupsByName = new Map<string | null, Group>(this.#groups.map((group) => [group.name, group]));
    const names = groups
      ? [...new Set([...storedGroupsByName.keys(), ...groups.names, ...shapeChangesByGroup.keys()])]
      : storedGroupsByName.keys();
    return [...names].map((name) => {
      const storedGroup = storedGroupsByName.get(name);
      const color = chosenColors?.get(name) ?? groups?.colorOf(name) ?? storedGroup?.color ?? '#000000';
      return { value: name, color, count: (storedGroup?.count ?? 0) + (shapeChangesByGroup.get(name) ?? 0) };
    });
  }

  #showGroups() {
    const categories = this.#categories;
    const { by, colors } = this.#display.coloring;
    this.#showOrHideAllButtons.hidden = categories.length < 2;
    this.#ownColorsButton.hidden = by !== null || colors.length === 0;
    const areColorsFixed = by !== null && by !== 'group';
    this.#groupList.show(categories, { areColorsFixed, alwaysListed: this.#editedGroups?.groups.chosenGroup });
  }

  /** The name of a group, with the check box that shows or hides it. */
  #groupControls(group: string | null, displayName: string) {
    const box = this.#visibilityBox(group);
    const refresh = () => (box.checked = !this.#display.hiddenGroups.has(group));
    return { elements: [h('label.row.grow', box, h('span.clip', displayName))], refresh };
  }

  /** The name of a group, with the check box that shows or hides it, and the radio button that chooses it for new shapes. */
  #choosableGroupControls(group: string | null, displayName: string) {
    const box = this.#visibilityBox(group);
    box.ariaLabel = annotationTexts.showGroup(displayName);
    const radio = h('input', { type: 'radio', name: `group-${this.#id}`, onchange: () => this.#chooseGroup(group) });
    const refresh = () => {
      box.checked = !this.#display.hiddenGroups.has(group);
      radio.checked = this.#editedGroups?.groups.chosenGroup === group;
    };
    return { elements: [box, h('label.row.grow', radio, h('span.clip', displayName))], refresh };
  }

  #visibilityBox(group: string | null) {
    const box = h('input', { type: 'checkbox', onchange: () => this.#toggle(group, box) });
    return box;
  }

  #toggle(group: string | null, box: HTMLInputElement) {
    const hiddenGroups = new Set(this.#display.hiddenGroups);
    if (box.checked) hiddenGroups.delete(group);
    else hiddenGroups.add(group);
    const fitsRequest = this.#record !== null && groupFilter(this.#record, hiddenGroups) !== null;
    fill(this.#message, !fitsRequest && errorNotice(annotationTexts.tooManyHidden));
    if (fitsRequest) this.options.onDisplayChange({ hiddenGroups });
    else box.checked = !box.checked;
  }

  #chooseGroup(group: string | null) {
    if (!this.#editedGroups) return;
    this.#editedGroups.groups.chosenGroup = group;
    this.#editedGroups.onChoose();
    this.#showGroups();
  }

  /** Gives a group a color. If the annotation is edited and all its shapes are loaded, the shapes themselves are changed; otherwise, only their display is. */
  #recolor(group: string | null, color: string) {
    const { by, colors } = this.#display.coloring;
    const areShapesChanged = by === null && (this.#editedGroups?.recolor(group, color) ?? false);
    if (areShapesChanged) {
      if (colors.some(([name]) => name === group)) this.#changeColoring({ colors: colors.filter(([name]) => name !== group) });
      else this.#showGroups();
      return;
    }
    const newColors = setCategoryColor(colors, group, color);
    fill(this.#message, !fitsAddress(newColors) && errorNotice(annotationTexts.tooManyColors));
    if (!fitsAddress(newColors)) return this.#showGroups();
    if (this.#editedGroups && by === null) showMessage(annotationTexts.colorOnlyShown);
    this.#changeColoring({ colors: newColors });
  }

  #changeColoring(changes: Partial<Display['coloring']>) {
    this.options.onDisplayChange({ coloring: { ...this.#display.coloring, ...changes } });
    this.refresh();
  }

  #makeNewGroupForm() {
    const attributes = {
      type: 'text',
      'aria-label': annotationTexts.newGroupName,
      placeholder: commonTexts.newGroup,
      maxlength: 200,
    };
    const name = h('input', attributes);
    const label = annotationTexts.addGroup;
    const submit = h('button.button.icon-button', { type: 'submit', 'aria-label': label, title: label }, icon('plus'));
    const add = (event: SubmitEvent) => {
      event.preventDefault();
      const group = name.value.trim();
      if (group === '') return;
      this.#editedGroups?.groups.addGroup(group);
      name.value = '';
      this.#chooseGroup(group);
    };
    return h('form.row', { hidden: true, onsubmit: add }, name, submit);
  }
}
