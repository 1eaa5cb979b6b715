import { costlyAnnotations } from '../../support/costly/annotations.js';
import { costlyImages } from '../../support/costly/images.js';
import { countWorkOf } from '../../support/costly/counted.js';
import { costlyTexts } from '../../support/costly/texts.js';

// The group `costly` sends all of them.
const rows = [...costlyTexts, ...costlyAnnotations, ...costlyImages].filter(([, status]) => status >= 400);

countWorkOf('requests at the limits that are refused', rows);
