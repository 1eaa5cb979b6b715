import { costlyTexts } from '../../support/costly/texts.js';
import { countWorkOf } from '../../support/costly/counted.js';

countWorkOf('texts at the limits of what is accepted', costlyTexts);
