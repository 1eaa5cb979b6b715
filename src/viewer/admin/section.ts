import type { Route } from '../router.js';

/** Builds the content of a section. `signal` aborts when the reader goes elsewhere. */
export type Section = (context: { signal: AbortSignal; route: Route }) => Promise<HTMLElement[]>;
