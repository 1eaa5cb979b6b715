import type { Route } from './router.js';

/** A view that has been built. `update` applies a change of the query of its address, and tells whether it could. */
export type View = { title: string; update?: (route: Route) => boolean };

/**
 * What a view is built with: `main` is the element to fill, `signal` aborts when the user leaves the view, and `refresh` builds the view anew.
 */
export type ViewContext = { main: HTMLElement; signal: AbortSignal; refresh: () => Promise<void> };
