import { describe, expectTypeOf, it } from 'vitest';
import type { Coordinate } from '../../../src/annotation-format/schema/common.js';
import type { AnnotationElement, AnnotationHead, ElementType } from '../../../src/annotation-format/schema/document.js';

type Of<Type extends ElementType> = Extract<AnnotationElement, { type: Type }>;

describe('the types of elements, which follow from their schemas', () => {
  it('distinguish elements by their type', () => {
    expectTypeOf<ElementType>().toEqualTypeOf<
      | 'arrow'
      | 'circle'
      | 'ellipse'
      | 'griddata'
      | 'heatmap'
      | 'image'
      | 'pixelmap'
      | 'point'
      | 'polyline'
      | 'rectangle'
      | 'rectanglegrid'
    >();
  });

  it('have tuples if the schema allows one length, and lists otherwise', () => {
    expectTypeOf<Coordinate>().toEqualTypeOf<[number, number, number]>();
    expectTypeOf<Of<'arrow'>['points']>().toEqualTypeOf<[Coordinate, Coordinate]>();
    expectTypeOf<Of<'polyline'>['holes']>().toEqualTypeOf<Coordinate[][] | undefined>();
    expectTypeOf<Of<'heatmap'>['points'][number]>().toEqualTypeOf<[number, number, number, number]>();
  });

  it('require what the schema requires', () => {
    expectTypeOf<Of<'circle'>['radius']>().toEqualTypeOf<number>();
    expectTypeOf<Of<'circle'>['lineWidth']>().toEqualTypeOf<number | undefined>();
    expectTypeOf<Of<'image'>['girderId']>().toEqualTypeOf<string>();
    expectTypeOf<Of<'pixelmap'>['boundaries']>().toEqualTypeOf<boolean>();
  });

  it('have the values of enumerations', () => {
    type Label = NonNullable<AnnotationElement['label']>;
    expectTypeOf<Label['value']>().toEqualTypeOf<string>();
    expectTypeOf<Label['visibility']>().toEqualTypeOf<'hidden' | 'always' | 'onhover' | undefined>();
    expectTypeOf<NonNullable<AnnotationHead['display']>['visible']>().toEqualTypeOf<'new' | boolean | undefined>();
  });
});
