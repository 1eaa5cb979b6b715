import type { Model } from 'mongoose';
import type { NotificationDocument } from './notification.model.js';

/** Interval in milliseconds at which the database is searched for messages that other processes have stored. */
const pollMs = 1000;
/** A message from another process may become visible this much later than its timestamp, in milliseconds. */
export const overlapMs = 2000;
/** If a search finds this many messages, there may be more, so all streams are woken. */
const maxMessages = 10_000;

/** The recipient of messages: a user, or an anonymous session. */
export type NotificationOwner = Pick<NotificationDocument, 'userId'> | Pick<NotificationDocument, 'tokenId'>;

const keyOf = (owner: Partial<Pick<NotificationDocument, 'userId' | 'tokenId'>>) => String(owner.userId ?? owner.tokenId);

/** An open stream. It is woken when there may be new messages for its owner. */
export class OpenStream {
  #isWoken = false;
  #wake: (() => void) | undefined;

  constructor(readonly close: () => void) {}

  wake(): void {
    this.#isWoken = true;
    this.#wake?.();
  }

  /** Waits until the stream is woken, the time is up, or the signal aborts. Returns immediately if the stream was woken since the last call. */
  async waitUntilWoken(milliseconds: number, endSignal: AbortSignal): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let stopWaiting = () => {};
    await new Promise<void>((resolve) => {
      if (this.#isWoken || endSignal.aborted) return resolve();
      stopWaiting = resolve;
      this.#wake = resolve;
      // With 2 ** 31 ms or more, a timer of Node.js would fire immediately. The stream then waits without a time limit.
      if (milliseconds < 2 ** 31) timer = setTimeout(resolve, Math.max(0, milliseconds));
      endSignal.addEventListener('abort', stopWaiting);
    });
    clearTimeout(timer);
    endSignal.removeEventListener('abort', stopWaiting);
    this.#wake = undefined;
    this.#isWoken = false;
  }
}

/** Wakes the open streams whose owners have new messages. All streams of a process share one query a second. */
export class NotificationFeed {
  readonly #notifications: () => Model<NotificationDocument>;
  readonly #isEnabled: () => Promise<boolean>;
  readonly #streams = new Map<string, Set<OpenStream>>();
  #isPolling = false;

  constructor({
    notifications,
    isEnabled,
  }: {
    notifications: () => Model<NotificationDocument>;
    /** Whether streams are allowed. If not, all streams are woken, so that they find out and end. */
    isEnabled: () => Promise<boolean>;
  }) {
    this.#notifications = notifications;
    this.#isEnabled = isEnabled;
  }

  /** Number of owners with open streams. */
  get ownerCount(): number {
    return this.#streams.size;
  }

  open(owner: NotificationOwner): OpenStream {
    const key = keyOf(owner);
    const streams = this.#streams.get(key) ?? new Set();
    this.#streams.set(key, streams);
    const stream: OpenStream = new OpenStream(() => {
      streams.delete(stream);
      if (streams.size === 0 && this.#streams.get(key) === streams) this.#streams.delete(key);
    });
    streams.add(stream);
    if (!this.#isPolling) void this.#poll();
    return stream;
  }

  wake(owner: NotificationOwner): void {
    for (const stream of this.#streams.get(keyOf(owner)) ?? []) stream.wake();
  }

  /** Searches for messages until no stream is open. */
  async #poll(): Promise<void> {
    this.#isPolling = true;
    let searchedFrom = new Date(Date.now() - overlapMs);
    let deliveredKeys = new Set<string>();
    while (this.#streams.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, pollMs).unref());
      const startedAt = Date.now();
      try {
        const filter = { updated: { $gt: searchedFrom } };
        const notifications = await this.#notifications()
          .find(filter, { userId: 1, tokenId: 1, updated: 1 })
          .limit(maxMessages)
          .lean<NotificationDocument[]>();
        const changeKeyOf = ({ _id, updated }: NotificationDocument) => `${_id.toHexString()} ${updated.getTime()}`;
        if (notifications.length === maxMessages || !(await this.#isEnabled())) this.#wakeAll();
        else for (const message of notifications) if (!deliveredKeys.has(changeKeyOf(message))) this.wake(message);
        deliveredKeys = new Set(notifications.map(changeKeyOf));
        searchedFrom = new Date(startedAt - overlapMs);
      } catch {
        // The streams meet the same error when they read their messages, and report it.
        this.#wakeAll();
      }
    }
    this.#isPolling = false;
  }

  #wakeAll(): void {
    for (const streams of this.#streams.values()) for (const stream of streams) stream.wake();
  }
}
