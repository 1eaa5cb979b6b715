import { channel } from 'node:diagnostics_channel';

const steps = channel('express-large-image:step');

/**
 * Says on the diagnostics channel `express-large-image:step` that a write of several steps has reached this one.
 *
 * Tests subscribe to it and stop the process there; without a subscriber it costs a property look-up. `docs/operations.md` lists the names.
 *
 * @param name `<write>:<step>`, such as `upload:moved`; the step has been done when it is named.
 */
export function step(name: string): void {
  if (steps.hasSubscribers) steps.publish(name);
}
