import { costlyAnnotations } from '../../support/costly/annotations.js';
import { countWorkOf } from '../../support/costly/counted.js';

countWorkOf('annotations at the limits of what is accepted', costlyAnnotations);
