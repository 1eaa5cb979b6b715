import { InvalidHostError } from '../../core/host/check-host.js';
import type { Core } from '../../core/core.js';
import type { RequestObserver } from '../../http/serving/mount.js';
import type { InstallOptions } from '../../installation.js';
import type { CacheOffers } from '../caches/feature.js';
import type { Feature } from '../feature.js';
import { jobStatus } from '../jobs/job-status.js';
import type { JobStore } from '../jobs/jobs.js';
import { CountingTileCache } from '../caches/counting-tile-cache.js';
import { describeMissingPackages } from '../../optional-packages.js';

interface MetricsNeeds {
  core: Core;
  options: InstallOptions;
  caching: CacheOffers;
  jobs: JobStore;
}

/** Upper bounds of the buckets for durations of requests, in seconds. They range from cached tiles to conversions that clients wait for. */
const durationBucketsSeconds = [0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 1, 5, 30];

/** Metrics of requests, queues, caches, child processes and jobs, in a registry of prom-client that belongs to the host. */
export const metricsFeature: Feature<MetricsNeeds, { observe: RequestObserver | undefined }> = {
  async open({ core, options, caching, jobs }, onClose) {
    const registry = options.metrics;
    if (registry === undefined) return { offers: { observe: undefined } };
    const { Counter, Gauge, Histogram } = await import('prom-client').catch((cause: unknown) => {
      throw new InvalidHostError(`install: metrics cannot be collected: ${describeMissingPackages('prom-client')}.`, { cause });
    });
    // `MetricsRegistry` declares only the members that this feature uses, so that the types of this package do not depend on
    // prom-client. The host passes a complete registry of prom-client.
    const registers = [registry as never];
    const registeredNames: string[] = [];
    const registerName = (name: string) => {
      registeredNames.push(`large_image_${name}`);
      return `large_image_${name}`;
    };
    onClose(() => {
      for (const name of registeredNames) registry.removeSingleMetric(name);
    });

    const requests = new Histogram({
      name: registerName('request_duration_seconds'),
      help: 'Duration of requests, by route and status.',
      labelNames: ['method', 'route', 'status'],
      buckets: durationBucketsSeconds,
      registers,
    });
    const addQueueGauge = (name: string, help: string, read: (queue: Core['queues'][keyof Core['queues']]) => number) =>
      new Gauge({
        name: registerName(name),
        help,
        labelNames: ['queue'],
        registers,
        collect() {
          for (const [queueName, queue] of Object.entries(core.queues)) this.set({ queue: queueName }, read(queue));
        },
      });
    addQueueGauge('queue_waiting', 'Waiting tasks.', ({ waitingCount }) => waitingCount);
    addQueueGauge('queue_running', 'Running tasks.', ({ runningCount }) => runningCount);

    const { tiles, sources, caches } = caching;
    const countersByCache = {
      tileCache: tiles instanceof CountingTileCache ? tiles : { hits: 0, misses: 0 },
      tilesource: sources,
    };
    new Counter({
      name: registerName('cache_requests_total'),
      help: 'Requests that a cache could answer (hit), or not (miss).',
      labelNames: ['cache', 'result'],
      registers,
      collect() {
        this.reset();
        for (const [cache, { hits, misses }] of Object.entries(countersByCache)) {
          this.inc({ cache, result: 'hit' }, hits);
          this.inc({ cache, result: 'miss' }, misses);
        }
      },
    });
    new Gauge({
      name: registerName('cache_used'),
      help: 'Contents of the caches: open files for tilesource, bytes for tileCache.',
      labelNames: ['cache'],
      registers,
      async collect() {
        for (const [cache, { used }] of Object.entries(await caches.report())) this.set({ cache }, used);
      },
    });
    new Gauge({
      name: registerName('child_processes'),
      help: 'Processes that convert, or read formats whose readers can crash.',
      registers,
      collect() {
        this.set(process.getActiveResourcesInfo().filter((kind) => kind === 'ProcessWrap').length);
      },
    });
    new Gauge({
      name: registerName('jobs'),
      // Each process reports the numbers of all processes.
      aggregator: 'first',
      help: 'Unfinished jobs of all processes.',
      labelNames: ['status'],
      registers,
      async collect() {
        for (const status of ['inactive', 'queued', 'running'] as const) {
          this.set({ status }, await jobs.count(jobStatus[status]));
        }
      },
    });
    const observe: RequestObserver = ({ method, path, status, seconds }) =>
      requests.observe({ method, route: path, status: String(status) }, seconds);
    return { offers: { observe } };
  },
};
