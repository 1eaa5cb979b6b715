import { describeRights, rightsCallers } from '../../support/access/rights-table.js';

describeRights('every route, by every role, with every kind of token', () => rightsCallers);
