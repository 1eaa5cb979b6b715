import { describe, expect, it } from 'vitest';
import type { ReferenceHost } from '../../../src/reference-host/index.js';
import { RunningHost } from '../../../src/reference-host/start/running-host.js';
import { until } from '../../support/run/until.js';

describe('RunningHost', () => {
  it('prepares once, and serves no request before', async () => {
    const steps: string[] = [];
    const recorder = (name: string) => async () => void steps.push(name);
    const restarts: (() => void)[] = [];
    const running = await RunningHost.start({
      makeHost: async (restart) => {
        steps.push('made');
        restarts.push(restart);
        return { app: {}, close: recorder('closed') } as unknown as ReferenceHost;
      },
      prepareFirst: async () => {
        await new Promise(setImmediate);
        steps.push('prepared');
      },
      server: { serve: async () => void steps.push('served'), pause: recorder('paused') },
      writeLine: () => undefined,
      onRestartFailed: (error) => {
        throw error;
      },
    });
    expect(steps).toEqual(['made', 'prepared', 'served']);
    restarts[0]!();
    await until('the restart', () => steps.length >= 7);
    expect(steps.slice(3)).toEqual(['paused', 'closed', 'made', 'served']);
    await running.close();
  });
});
