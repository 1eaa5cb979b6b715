import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';

/*
 * Part of a program that a test kills (`buildProgram` with `holdsAtSteps`). A write that has reached its step waits there forever, so that
 * one kill interrupts many writes, each at its own step. Waiting writes are named
 *   by the header `hold-at-step: <key> <step>` of the requests of a write, or
 *   by the variable HOLD_AT_STEPS, `<key> <step>,…`, for jobs and timers: the first one that reaches the step waits.
 * A step is a name, or `name#3` for the third time. `held <key>` is printed when the step has been reached.
 */
interface HeldStep {
  key: string;
  name: string;
  left: number;
}

const stepsByHeader = new Map<string, HeldStep>();
const stepOfRequest = new AsyncLocalStorage<HeldStep | null>();
const stepsOfProcess = (process.env.HOLD_AT_STEPS ?? '')
  .split(',')
  .filter((text) => text !== '')
  .map(parseStep);

function parseStep(text: string): HeldStep {
  const [key = '', name = '', times = '1'] = text.split(/[ #]/);
  return { key, name, left: Number(times) };
}

subscribe('http.server.request.start', (message) => {
  const { request } = message as { request: IncomingMessage };
  const text = request.headers['hold-at-step'];
  if (typeof text !== 'string') return stepOfRequest.enterWith(null);
  // A write may take several requests.
  const step = stepsByHeader.get(text) ?? parseStep(text);
  stepsByHeader.set(text, step);
  stepOfRequest.enterWith(step);
});

/** Takes the place of `announceStep` in the program. */
export async function reached(name: string): Promise<void> {
  for (const step of [stepOfRequest.getStore(), ...stepsOfProcess]) {
    if (step?.name !== name || --step.left !== 0) continue;
    process.stdout.write(`held ${step.key}\n`);
    await new Promise(() => {});
  }
}
