import { formatCount } from '../../format.js';
import type { Texts } from '../catalog.js';

export const figureTexts: Texts['figureTexts'] = {
  annotations: 'Annotationen',
  asPicture: (name, limit) =>
    `„${name}“ ist als Bild und nicht als Vektoren in der Abbildung: Es sind hier mehr als ${formatCount(limit)} Formen, oder nur der Server kann sie zeichnen.`,
  boxOf: (width, height) => `${formatCount(width)} × ${formatCount(height)} px des Bildes`,
  changeBox: 'Rahmen ziehen',
  drawHint: 'Ziehen Sie einen Rahmen auf dem Bild. Esc bricht ab.',
  dpi: 'Pixel pro Zoll',
  failed: 'Der Browser konnte keine Abbildung dieser Größe erzeugen. Wählen Sie eine kleinere Breite.',
  format: 'Format',
  formats: { png: 'PNG', tiff: 'TIFF', svg: 'SVG (Annotationen als Vektoren)', pdf: 'PDF (Annotationen als Vektoren)' },
  fullSize: (width, height) =>
    `Nur der Bildausschnitt, ${formatCount(width)} × ${formatCount(height)} Pixel in voller Auflösung, ohne Annotationen:`,
  legend: 'Legende der Kanäle und Gruppen',
  makeFigure: 'Abbildung speichern',
  moreEntries: (count) => `und ${formatCount(count)} weitere`,
  noScaleBar: 'Ohne Maßstabsbalken, weil die Größe eines Pixels unbekannt ist. Sie können sie im Bereich „Bild“ eingeben.',
  outside: 'In diesem Rahmen ist kein Teil des Bildes.',
  result: (width, height, across, down) =>
    `Bild: ${formatCount(width)} × ${formatCount(height)} Pixel, gedruckt ${across} × ${down} cm`,
  samples: 'Volle Auflösung, ohne Annotationen',
  scaleBar: 'Maßstabsbalken',
  tiff: 'TIFF',
  title: 'Titel',
  titleHint: 'Über dem Bild; kann leer bleiben.',
  tooLarge: (width, height, side, pixels) =>
    `Die Abbildung hätte ${formatCount(width)} × ${formatCount(height)} Pixel. Möglich sind höchstens ${formatCount(side)} je Seite und ${formatCount(pixels)} insgesamt.`,
  unit: 'Einheit',
  units: { px: 'Pixel', cm: 'Zentimeter', in: 'Zoll' },
  useView: 'Aktuelle Ansicht verwenden',
  width: 'Breite',
  widthRange: (least, most) => `Geben Sie eine Breite von ${formatCount(least)} bis ${formatCount(most)} Pixeln ein.`,
  dpiRange: (least, most) => `Geben Sie ${formatCount(least)} bis ${formatCount(most)} Pixel pro Zoll ein.`,
};

export const printTexts: Texts['printTexts'] = {
  address: 'Adresse',
  magnification: 'Vergrößerung',
  pixelSize: 'Pixelgröße',
  printed: 'Gedruckt',
  scale: 'Maßstabsbalken',
  size: 'Größe',
  view: 'Gezeigter Ausschnitt',
  viewOf: ({ x, y, width, height }) =>
    `${formatCount(width)} × ${formatCount(height)} px ab ${formatCount(x - width / 2)}, ${formatCount(y - height / 2)}`,
};
