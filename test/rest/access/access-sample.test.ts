import { callers } from '../../support/access/access-matrix.js';
import { describeAccess } from '../../support/access/access-table.js';

// Each caller comes with other routes. The group `rights` asks each route for each.
describeAccess('who may use which route, by one caller', (route) => [callers[(route * 5) % callers.length]!]);
