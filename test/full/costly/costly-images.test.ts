import { costlyImages } from '../../support/costly/images.js';
import { countWorkOf } from '../../support/costly/counted.js';

countWorkOf('images at the limits of what is accepted', costlyImages);
