import { subscribe } from 'node:diagnostics_channel';
import { appendFileSync } from 'node:fs';

/*
 * Loaded with `--import` into a process that a test starts (`stepsEnvironment` in steps.ts):
 *   KILL_AT_STEP=upload:moved      the process ends as by kill -9 when it reaches this step;
 *   KILL_AT_STEP=upload:moved#3    … for the third time;
 *   STEPS_FILE=path                each step is written there, a line each.
 */
const [expected, times = '1'] = (process.env.KILL_AT_STEP ?? '').split('#');
let count = 0;
subscribe('express-large-image:step', (name) => {
  if (process.env.STEPS_FILE !== undefined) appendFileSync(process.env.STEPS_FILE, `${String(name)}\n`);
  if (name === expected && ++count === Number(times)) process.kill(process.pid, 'SIGKILL');
});
