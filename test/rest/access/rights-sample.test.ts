import { describeRights, rightsCallers } from '../../support/access/rights-table.js';

// Seven has no divisor in common with the number of callers: all of them come, each with other routes. The group `rights` asks each route for each.
describeRights('every route, by one role with one kind of token', (row) => [rightsCallers[(row * 7) % rightsCallers.length]!]);
