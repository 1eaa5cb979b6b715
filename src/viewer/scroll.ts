import { isShown } from './router.js';
import { tabStorage } from './storage.js';

/** Scroll positions in pixels, by the keys of the history's entries. Keys are numbers as texts; `newest` is the highest. */
type Positions = { newest: number; byKey: Record<string, number> };

const storageKey = 'scroll positions';

/** Positions are kept while the tab is open, also across a reload. */
const positions: Positions = readPositions();

/** Key of the history's entry whose view is on the page; `null` while a view is being built. */
let shownKey: string | null = null;

// The browser would restore a position before the view has been built.
history.scrollRestoration = 'manual';

addEventListener('scroll', () => {
  // A link to another view may scroll before the page notices that the address has changed.
  if (shownKey !== null && isShown(location.hash)) positions.byKey[shownKey] = scrollY;
});

addEventListener('pagehide', () => {
  tabStorage.set(storageKey, JSON.stringify(positions));
});

/** Must be called before the page shows another view. */
export function pauseScrollRecording() {
  shownKey = null;
}

/** Scrolls to where the user left this entry of the history, or to the top of a new entry. Must be called when the entry's view has been built. */
export function restoreScroll() {
  const storedKey: unknown = history.state?.scroll;
  const key = typeof storedKey === 'string' ? storedKey : String((positions.newest += 1));
  if (storedKey !== key) history.replaceState({ ...history.state, scroll: key }, '');
  scrollTo(0, positions.byKey[key] ?? 0);
  shownKey = key;
}

function readPositions(): Positions {
  try {
    return JSON.parse(tabStorage.get(storageKey) ?? '') as Positions;
  } catch {
    return { newest: 0, byKey: {} };
  }
}
