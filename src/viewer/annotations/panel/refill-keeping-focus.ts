/** Refills a list. The control with the same key as the focused one gets the focus. */
export function refillKeepingFocus(list: HTMLElement, refill: () => void) {
  const root = list.getRootNode() as Document | ShadowRoot;
  const focused = list.contains(root.activeElement) ? (root.activeElement as HTMLElement) : null;
  const key = focused?.dataset.key;
  refill();
  const same = [...list.querySelectorAll<HTMLElement>('[data-key]')].find((control) => control.dataset.key === key);
  (same ?? focused)?.focus({ preventScroll: true });
}
