import { costlyAnnotations } from '../../support/costly/annotations.js';
import { costlyImages } from '../../support/costly/images.js';
import { countWorkOf } from '../../support/costly/counted.js';
import { costlyTexts } from '../../support/costly/texts.js';
import { sampleOf } from '../../support/run/sample.js';

// The group `costly` sends all of them.
const rows = sampleOf(
  [...costlyTexts, ...costlyAnnotations, ...costlyImages].filter(([, status]) => status >= 400),
  12,
);

countWorkOf('requests at the limits that are refused', rows);
