import type { Route } from './router.js';

/** What a view answers when it stands. `update` takes a change of the query of its own address and says whether it could. */
export type View = { title: string; update?: (route: Route) => boolean };

/**
 * What a view works with: `main` to fill, `signal` that aborts when the reader goes elsewhere, and `refresh`, which builds the
 * view anew.
 */
export type ViewContext = { main: HTMLElement; signal: AbortSignal; refresh: () => Promise<void> };
