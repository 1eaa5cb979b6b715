import type { Field } from '../forms.js';
import { figureTexts } from '../figure-texts.js';
import { siteStorage } from '../storage.js';

/** Optional parts of a figure. */
type OptionalPart = 'scaleBar' | 'annotations' | 'legend';

/** The entries of the dialog, as the texts of its inputs. */
export type FigureEntries = Record<'format' | 'width' | 'unit' | 'dpi' | 'title' | OptionalPart, string>;

const defaultEntries: FigureEntries = {
  format: 'png',
  width: '1600',
  unit: 'px',
  dpi: '300',
  title: '',
  scaleBar: 'true',
  annotations: 'true',
  legend: 'true',
};

/** Range of the pixels per inch that can be chosen. */
const dpiRange = { min: 30, max: 2400 } as const;

const storageKey = 'figure';

/** @param canMeasure whether there can be a scale bar */
export function entryFields(entries: FigureEntries, canMeasure: boolean): Field[] {
  const numberInput = { type: 'number', step: 'any', min: 0 };
  const checkboxField = (name: OptionalPart, label: string, isPossible = true): Field => {
    return { name, label, type: 'checkbox', value: isPossible && entries[name] === 'true', disabled: !isPossible };
  };
  return [
    { name: 'format', label: figureTexts.format, options: figureTexts.formats, value: entries.format },
    { name: 'width', label: figureTexts.width, value: entries.width, ...numberInput },
    { name: 'unit', label: figureTexts.unit, options: figureTexts.units, value: entries.unit },
    { name: 'dpi', label: figureTexts.dpi, value: entries.dpi, ...numberInput },
    { name: 'title', label: figureTexts.title, value: entries.title, maxlength: 200, hint: figureTexts.titleHint },
    checkboxField('scaleBar', figureTexts.scaleBar, canMeasure),
    checkboxField('annotations', figureTexts.annotations),
    checkboxField('legend', figureTexts.legend),
  ];
}

/** The current entries of a form, including check boxes that are not checked. Disabled check boxes keep their previous entries. */
export function entriesIn(form: HTMLFormElement, previousEntries: FigureEntries): FigureEntries {
  const values = Object.fromEntries(new FormData(form)) as Partial<FigureEntries>;
  const checkBoxEntries = (['scaleBar', 'annotations', 'legend'] as const).map((name) => {
    const box = form.querySelector<HTMLInputElement>(`[name="${name}"]`);
    return [name, box?.disabled ? previousEntries[name] : String(box?.checked === true)];
  });
  return { ...previousEntries, ...values, ...Object.fromEntries(checkBoxEntries) };
}

/** The settings of a figure, read from its entries. @throws Error if the resolution is out of range */
export function figureSettings(entries: FigureEntries) {
  const { width, dpi } = readSize(entries);
  if (!(dpi >= dpiRange.min && dpi <= dpiRange.max)) throw new Error(figureTexts.dpiRange(dpiRange.min, dpiRange.max));
  return {
    width,
    dpi,
    title: entries.title.trim(),
    scaleBar: entries.scaleBar === 'true',
    annotations: entries.annotations === 'true',
    legend: entries.legend === 'true',
  };
}

/** The width in pixels, and the resolution in pixels per inch. Both are `NaN` if the entries they depend on are not numbers. */
export function readSize({ width, unit, dpi }: FigureEntries) {
  const [size, density] = [width, dpi].map((text) => (text.trim() === '' ? NaN : Number(text))) as [number, number];
  const pixelsPerUnit = { px: 1, in: density, cm: density / 2.54 }[unit] ?? 1;
  return { width: Math.round(size * pixelsPerUnit), dpi: density };
}

/** The entries that were stored for the last figure. Missing entries have their defaults. */
export function readStoredEntries(): FigureEntries {
  try {
    const storedEntries = JSON.parse(siteStorage.get(storageKey) ?? '{}') as Record<string, unknown>;
    const entries = Object.entries(defaultEntries).map(([key, value]) => [
      key,
      typeof storedEntries[key] === 'string' ? storedEntries[key] : value,
    ]);
    return Object.fromEntries(entries) as FigureEntries;
  } catch {
    // The stored text is not valid JSON.
    return defaultEntries;
  }
}

export function storeEntries(entries: FigureEntries) {
  siteStorage.set(storageKey, JSON.stringify(entries));
}
