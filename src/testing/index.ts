export { describeHost, type HostUnderTest, type TestUser } from './host.js';
export { describeTileCache } from './tile-cache.js';
export { describeTileSource } from './tile-source.js';
export type { TestFunctions } from './test-functions.js';
