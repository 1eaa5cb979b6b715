export { describeHost } from './host/describe-host.js';
export type { HostUnderTest, TestUser } from './host/host-under-test.js';
export { describeTileCache } from './tile-cache.js';
export { describeTileSource } from './tile-source.js';
export type { TestFunctions } from './test-functions.js';
