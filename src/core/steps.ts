import { channel } from 'node:diagnostics_channel';

const stepChannel = channel('express-large-image:step');

/**
 * Announces on the diagnostics channel `express-large-image:step` that a multi-step write has completed a step. Tests subscribe to
 * the channel and stop the process after a step. Without a subscriber, a call only costs a property access. `docs/operations.md`
 * lists the names of the steps.
 *
 * @param name `<write>:<step>`, such as `upload:moved`.
 */
export function announceStep(name: string): void {
  if (stepChannel.hasSubscribers) stepChannel.publish(name);
}
