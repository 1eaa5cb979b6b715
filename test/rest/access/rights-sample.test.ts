import { describeRights, rightsCallers } from '../../support/access/rights-table.js';

// Seven and the number of callers have no common divisor, so every caller is used, each with other routes. The group `rights`
// tests each route with each caller.
describeRights('every route, by one role with one kind of token', (rowNumber) => [
  rightsCallers[(rowNumber * 7) % rightsCallers.length]!,
]);
