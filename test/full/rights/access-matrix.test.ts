import { callers } from '../../support/access/access-matrix.js';
import { describeAccess } from '../../support/access/access-table.js';

describeAccess('who may use which route', () => callers);
