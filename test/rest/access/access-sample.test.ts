import { callers } from '../../support/access/access-matrix.js';
import { describeAccess } from '../../support/access/access-table.js';

// Each caller requests other routes. The group `rights` tests each route with each caller.
describeAccess('who may use which route, by one caller', (route) => [callers[(route * 5) % callers.length]!]);
