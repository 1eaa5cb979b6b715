import { callers } from '../../support/access/access-matrix.js';
import { describeAccess } from '../../support/access/access-table.js';

// Here each route has one caller. The group `rights` tests each route with each caller.
describeAccess('who may use which route, tested by one caller for each', (routeNumber) => [
  callers[(routeNumber * 5) % callers.length]!,
]);
