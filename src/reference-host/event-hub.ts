import type { HostEventName, HostEventPayloads, HostEvents, HostLogger } from '../index.js';

type Listener<N extends HostEventName> = (payload: HostEventPayloads[N]) => void | Promise<void>;

/** Calls the listeners of one host's events one after the other. If a listener fails, the error is logged and the next listener is called. */
export class EventHub implements HostEvents {
  readonly #listeners = new Map<HostEventName, Set<Listener<never>>>();

  constructor(readonly logger: HostLogger) {}

  on<N extends HostEventName>(name: N, listener: Listener<N>): () => void {
    const listeners = this.#listeners.get(name) ?? new Set();
    this.#listeners.set(name, listeners);
    // Each listener is wrapped, so that a function that is subscribed twice has two subscriptions.
    const subscription: Listener<N> = (payload) => listener(payload);
    listeners.add(subscription as Listener<never>);
    return () => listeners.delete(subscription as Listener<never>);
  }

  /** Like {@link emit}, for events that must not be lost. @throws the first error of a listener, after all listeners have been called. */
  async deliver<N extends HostEventName>(name: N, payload: HostEventPayloads[N]): Promise<void> {
    const errors: unknown[] = [];
    for (const listener of [...(this.#listeners.get(name) ?? [])] as Listener<N>[]) {
      try {
        await listener(payload);
      } catch (error) {
        errors.push(error);
      }
    }
    if (errors.length > 0) throw errors[0];
  }

  async emit<N extends HostEventName>(name: N, payload: HostEventPayloads[N]): Promise<void> {
    for (const listener of [...(this.#listeners.get(name) ?? [])] as Listener<N>[]) {
      try {
        await listener(payload);
      } catch (error) {
        this.logger.error({ err: error, event: name }, 'Host:Listener:Failed');
      }
    }
  }
}
