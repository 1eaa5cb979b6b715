import type { BoundRoute } from '../http/route.js';
import type { HostLogger } from '../host.js';
import type { Sweep } from '../core/database/sweeper.js';
import { UndoSteps, type OnClose } from '../core/undo.js';
import type { JobDefinition } from './jobs/running/definition.js';

interface OpenFeature<Offers> {
  /** The services that other features can use. */
  offers: Offers;
  routes?: readonly BoundRoute[];
  jobs?: readonly JobDefinition<unknown>[];
  /** Removes what killed processes have left behind. */
  sweep?: Sweep;
}

/** A capability of the plugin. Opening it yields its services, routes and jobs. */
export interface Feature<Needs, Offers> {
  /**
   * Makes the models and services of the feature, and subscribes it to events.
   *
   * @param needs services that the core and the features opened earlier offer.
   * @param onClose adds a step that closes the feature. These steps also run if opening the feature fails halfway.
   */
  open(needs: Needs, onClose: OnClose): Promise<OpenFeature<Offers>> | OpenFeature<Offers>;
}

/** The open features of one installation, in the order of their opening. */
export class Features {
  readonly #undo: UndoSteps;
  readonly #routes: BoundRoute[] = [];
  readonly #jobs: JobDefinition<unknown>[] = [];
  readonly #sweeps: Sweep[] = [];

  constructor(logger: HostLogger) {
    this.#undo = new UndoSteps(logger);
  }

  get routes(): readonly BoundRoute[] {
    return this.#routes;
  }

  get jobs(): readonly JobDefinition<unknown>[] {
    return this.#jobs;
  }

  get sweeps(): readonly Sweep[] {
    return this.#sweeps;
  }

  /** Opens a feature. @returns what it offers. */
  async open<Needs, Offers>(feature: Feature<Needs, Offers>, needs: Needs): Promise<Offers> {
    const { offers, routes = [], jobs = [], sweep } = await feature.open(needs, this.onClose);
    if (sweep !== undefined) this.#sweeps.push(sweep);
    this.#routes.push(...routes);
    this.#jobs.push(...jobs);
    return offers;
  }

  /** Adds a step that runs on closing. The last step added runs first. */
  readonly onClose: OnClose = (step) => this.#undo.add(step);

  /** Closes all features, starting with the one opened last. */
  close(): Promise<void> {
    return this.#undo.run();
  }
}
