import type { Texts } from './catalog.js';
import * as admin from './de/admin.js';
import * as annotations from './de/annotations.js';
import * as comments from './de/comments.js';
import * as figure from './de/figure.js';
import * as image from './de/image.js';
import * as pages from './de/pages.js';
import * as sharing from './de/sharing.js';

/** All texts of the page in German. Users are addressed with “Sie”. */
export const german: Texts = { ...pages, ...image, ...figure, ...annotations, ...comments, ...sharing, ...admin };
