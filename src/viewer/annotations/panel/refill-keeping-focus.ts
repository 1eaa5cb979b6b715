/** Refills a list. Afterwards, the control with the same `data-key` as the control that had the focus gets the focus. */
export function refillKeepingFocus(list: HTMLElement, refill: () => void) {
  const root = list.getRootNode() as Document | ShadowRoot;
  const focusedControl = list.contains(root.activeElement) ? (root.activeElement as HTMLElement) : null;
  const key = focusedControl?.dataset.key;
  refill();
  const sameControl = [...list.querySelectorAll<HTMLElement>('[data-key]')].find((control) => control.dataset.key === key);
  (sameControl ?? focusedControl)?.focus({ preventScroll: true });
}
