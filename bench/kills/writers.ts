import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Unanswered, type Caller } from './caller.js';
import type { Random } from './random.js';
import type { KillableServer } from './killable-server.js';

/** The records that the writers change. */
export interface Fixture {
  caller: Caller;
  userId: string;
  server: KillableServer;
  random: Random;
  /** The folder for uploads and copies. */
  uploads: string;
  /** The folder for configurations. */
  configurations: string;
  /** Three nested folders. */
  tree: string[];
  /** Large images, some of which are converted and restored. */
  images: string[];
  /** An annotation that several writers edit, and the ids of its elements. */
  annotation: string;
  elementIds: string[];
}

/** A client that writes, and remembers what was acknowledged. */
export abstract class Writer {
  /** Number of writes that were answered with success. */
  acknowledged = 0;
  /** The problems that were found. */
  readonly faults: string[] = [];

  constructor(
    readonly kind: string,
    protected readonly fixture: Fixture,
    protected readonly index: number,
  ) {}

  /** Makes one write. If there is no response, the writer does what a real client would do. */
  abstract write(): Promise<void>;
  /** Checks everything again at the end. */
  abstract verify(): Promise<void>;

  protected get caller(): Caller {
    return this.fixture.caller;
  }

  protected fault(text: string): void {
    this.faults.push(text);
  }

  /** Does a write. @returns whether it was answered with success. An error response is recorded as a fault. */
  protected async succeeds(work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      this.acknowledged += 1;
      return true;
    } catch (error) {
      if (!(error instanceof Unanswered)) this.fault(error instanceof Error ? error.message : String(error));
      return false;
    }
  }
}

export const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

/** Milliseconds from the moment that the server is up again to the first chunk that continues an upload. */
export const resumeMs: number[] = [];

/** Sends files in chunks. If there is no response, the uploader asks how much has arrived, and continues there. */
export class Uploader extends Writer {
  constructor(fixture: Fixture, index: number, kind = 'uploads in chunks') {
    super(kind, fixture, index);
  }

  /** Hashes by file. */
  readonly files = new Map<string, string>();
  readonly items = new Map<string, string>();
  #count = 0;

  async write(): Promise<void> {
    const { random, uploads } = this.fixture;
    const body = random.bytes(random.between(5_000, 120_000));
    const name = `${this.kind} ${this.index}-${this.#count++}`;
    let id = '';
    const query = { parentType: 'folder', parentId: uploads, name, size: body.length };
    if (!(await this.succeeds(async () => (id = (await this.caller.request('POST', '/file', query))._id)))) return;
    let offset = 0;
    let restartedMs = 0;
    let { upSince } = this.fixture.server;
    while (offset < body.length) {
      const end = Math.min(body.length, offset + random.between(2_000, 30_000));
      const send = async () => {
        const chunk = body.subarray(offset, end);
        const file = await this.caller.request('POST', '/file/chunk', { uploadId: id, offset }, chunk);
        offset = end;
        if (restartedMs > 0) resumeMs.push(performance.now() - restartedMs);
        restartedMs = 0;
        if (end === body.length) this.remember(file, body);
      };
      const faultCount = this.faults.length;
      if (await this.succeeds(send)) continue;
      if (this.faults.length > faultCount) return;
      const nextOffset = await this.#resume(id, { name, body, acknowledged: offset });
      if (nextOffset === null) return;
      // If only the database was killed, the server may have been up for long.
      restartedMs = this.fixture.server.upSince === upSince ? 0 : this.fixture.server.upSince;
      upSince = this.fixture.server.upSince;
      offset = nextOffset;
    }
  }

  protected remember(file: { _id: string; itemId?: unknown }, body: Uint8Array): void {
    this.files.set(file._id, hashOf(body));
    this.items.set(file._id, String(file.itemId));
  }

  /** @returns where to continue; `null` if there is nothing to continue. */
  async #resume(id: string, { name, body, acknowledged }: { name: string; body: Buffer; acknowledged: number }) {
    const { status, json } = await this.caller.get('/file/offset', { uploadId: id });
    if (status === 200) {
      const offset = Number(json.offset);
      if (offset < acknowledged) this.fault(`${name}: ${acknowledged} bytes were acknowledged, ${offset} are there`);
      if (offset < body.length) return offset;
      while (!(await this.#complete(id, body)))
        if ((await this.caller.get('/file/offset', { uploadId: id })).status !== 200) break;
    }
    // The upload was complete, and the response was lost.
    const [item] = await this.caller.list('/item', { folderId: this.fixture.uploads, name });
    const [file] = item === undefined ? [] : await this.caller.list(`/item/${item._id}/files`);
    if (file === undefined) this.fault(`${name}: ${acknowledged} bytes were acknowledged, and there is neither upload nor file`);
    else this.remember({ ...file, itemId: item!._id }, body);
    return null;
  }

  #complete(id: string, body: Buffer): Promise<boolean> {
    return this.succeeds(async () =>
      this.remember(await this.caller.request('POST', '/file/completion', { uploadId: id }), body),
    );
  }

  async verify(): Promise<void> {
    for (const [id, hash] of this.files) {
      const { status, bytes } = await this.caller.get(`/file/${id}/download`);
      if (status !== 200 || hashOf(bytes) !== hash)
        this.fault(`file ${id}: ${status}, ${bytes.length} bytes, not those that were sent`);
    }
  }
}

/** Copies items of files, and removes some. */
export class Copier extends Uploader {
  readonly #removedItems: string[] = [];

  constructor(
    fixture: Fixture,
    index: number,
    private readonly sources: readonly Uploader[],
  ) {
    super(fixture, index, 'copies and removals');
  }

  override async write(): Promise<void> {
    const { random } = this.fixture;
    const copies = [...this.items];
    if (copies.length > 8 || (copies.length > 0 && random.below(3) === 0))
      return this.#remove(copies[random.below(copies.length)]!);
    const source = this.sources[random.below(this.sources.length)]!;
    const [id, item] = [...source.items][random.below(source.items.size)] ?? [];
    if (id === undefined) return pause(50);
    let copy = '';
    if (!(await this.succeeds(async () => (copy = (await this.caller.request('POST', `/item/${item!}/copy`))._id)))) return;
    const [file, ...others] = await this.caller.list(`/item/${copy}/files`);
    if (file === undefined || others.length > 0) return this.fault(`copy ${copy} has ${file === undefined ? 0 : 2} files`);
    this.files.set(file._id, source.files.get(id)!);
    this.items.set(file._id, copy);
  }

  async #remove([file, item]: [string, string]): Promise<void> {
    this.files.delete(file);
    this.items.delete(file);
    if (await this.succeeds(() => this.caller.request('DELETE', `/item/${item}`))) this.#removedItems.push(item);
  }

  override async verify(): Promise<void> {
    await super.verify();
    for (const item of this.#removedItems) {
      if ((await this.caller.get(`/item/${item}`)).status === 200) this.fault(`item ${item} was removed, and is there`);
    }
  }
}

/** Replaces one value again and again. The stored value must be the last acknowledged value, or a later value whose request got no response. */
abstract class Replacer extends Writer {
  #count = 0;
  /** Values that may be stored. */
  #possibleValues: unknown[];

  constructor(kind: string, fixture: Fixture, index: number, storedValue: unknown) {
    super(kind, fixture, index);
    this.#possibleValues = [storedValue];
  }

  protected abstract valueAt(count: number): unknown;
  protected abstract store(value: unknown): Promise<unknown>;
  /** The stored value, in the form of {@link valueAt}. Anything else is described by a text. */
  protected abstract read(): Promise<unknown>;

  async write(): Promise<void> {
    const value = this.valueAt(++this.#count);
    const isAnswered = await this.succeeds(() => this.store(value));
    this.#possibleValues = isAnswered ? [value] : [...this.#possibleValues, value];
    if (!isAnswered) await this.verify();
  }

  async verify(): Promise<void> {
    const storedValue = await this.read();
    if (!this.#possibleValues.includes(storedValue)) {
      this.fault(`${this.kind} ${this.index}: ${this.#possibleValues.join(' or ')} should be there, ${String(storedValue)} is`);
    }
    this.#possibleValues = [storedValue];
  }
}

/** Writes a configuration of a folder. */
export class Configurer extends Replacer {
  readonly #path = `/folder/${this.fixture.configurations}/yaml_config/${this.index}.yaml`;

  constructor(fixture: Fixture, index: number) {
    super('configurations', fixture, index, null);
  }

  protected valueAt(count: number): unknown {
    return count;
  }

  protected store(value: unknown): Promise<unknown> {
    return this.caller.request('PUT', this.#path, {}, `value: ${String(value)}\n`);
  }

  protected async read(): Promise<unknown> {
    const { status, json, bytes } = await this.caller.get(this.#path);
    if (status !== 200) return `${status} ${bytes.toString('utf8', 0, 100)}`;
    return json?.value ?? null;
  }
}

/** Changes one element of an annotation that other writers change too. */
export class Editor extends Replacer {
  readonly #path = `/annotation/${this.fixture.annotation}/elements/${this.fixture.elementIds[this.index]!}`;

  constructor(fixture: Fixture, index: number) {
    super('edits of annotations', fixture, index, 1);
  }

  protected valueAt(count: number): unknown {
    return 1 + count;
  }

  protected store(value: unknown): Promise<unknown> {
    return this.caller.request('PATCH', this.#path, {}, JSON.stringify({ lineWidth: value }));
  }

  protected async read(): Promise<unknown> {
    const { status, json } = await this.caller.get(this.#path);
    return status === 200 ? json.lineWidth : `${status}`;
  }
}

/** Makes a tree of folders public and private in turn. */
export class Gatekeeper extends Replacer {
  constructor(fixture: Fixture, index: number) {
    super('access of a tree', fixture, index, false);
  }

  protected valueAt(count: number): unknown {
    return count % 2 === 1;
  }

  protected store(value: unknown): Promise<unknown> {
    const access = JSON.stringify({ users: [{ id: this.fixture.userId, level: 2, flags: [] }], groups: [] });
    const query = { access, public: value === true, recurse: true };
    return this.caller.request('PUT', `/folder/${this.fixture.tree[0]!}/access`, query);
  }

  protected async read(): Promise<unknown> {
    const states: boolean[] = [];
    for (const id of this.fixture.tree) states.push((await this.caller.get(`/folder/${id}`)).json.public === true);
    return new Set(states).size === 1 ? states[0] : `public: ${states.join(', ')}`;
  }
}

/** Sends whole annotations. */
export class Annotator extends Writer {
  constructor(fixture: Fixture, index: number) {
    super('new annotations', fixture, index);
  }

  readonly #annotations = new Map<string, { id: string; count: number }>();
  #count = 0;

  async write(): Promise<void> {
    const { random, images } = this.fixture;
    const name = `annotation ${this.index}-${this.#count++}`;
    const count = random.between(1, 1500);
    const elements = Array.from({ length: count }, (_, x) => ({ type: 'point', center: [x, x, 0], lineWidth: 1 }));
    let id = '';
    const body = JSON.stringify({ name, elements });
    const post = async () => (id = (await this.caller.request('POST', '/annotation', { itemId: images[0]! }, body))._id);
    if (await this.succeeds(post)) {
      this.#annotations.set(name, { id, count });
      return;
    }
    const annotations = await this.caller.list('/annotation', { itemId: images[0]!, name });
    if (annotations.length > 1) this.fault(`${name} is there ${annotations.length} times`);
    for (const { _id } of annotations) this.#annotations.set(name, { id: _id, count });
    for (const { _id } of annotations) await this.#checkElementCount(name, _id, count);
  }

  async #checkElementCount(name: string, id: string, count: number): Promise<void> {
    const { status, json } = await this.caller.get(`/annotation/${id}`);
    const { annotation } = (json ?? {}) as { annotation?: { elements: unknown[] } };
    if (status !== 200 || annotation?.elements.length !== count) {
      this.fault(`${name}: ${status}, ${annotation?.elements.length} of ${count} elements`);
    }
  }

  async verify(): Promise<void> {
    for (const [name, { id, count }] of this.#annotations) await this.#checkElementCount(name, id, count);
  }
}

/** Requests thumbnails of new sizes, which are cached. */
export class Viewer extends Writer {
  constructor(fixture: Fixture, index: number) {
    super('thumbnails', fixture, index);
  }

  async write(): Promise<void> {
    const { images, random } = this.fixture;
    const path = `/item/${images[0]!}/tiles/thumbnail`;
    await this.succeeds(async () => {
      const { status, bytes } = await this.caller.send('GET', path, { width: random.between(20, 200) });
      if (status !== 200 || bytes.length < 100) throw new Error(`a thumbnail: ${status}, ${bytes.length} bytes`);
    });
  }

  async verify(): Promise<void> {
    await this.write();
  }
}

const finishedStatuses = [3, 4, 5];

/** Converts an image, and removes the result. */
export class Converter extends Writer {
  constructor(fixture: Fixture, index: number) {
    super('conversions', fixture, index);
  }

  readonly #item = this.fixture.images[1 + this.index]!;

  async write(): Promise<void> {
    const path = `/item/${this.#item}/tiles`;
    let job = '';
    if (!(await this.#requestIfLarge('DELETE'))) return;
    if (!(await this.succeeds(async () => (job = (await this.caller.request('POST', path, { force: true }))._id)))) {
      await this.#waitUntil(async () => (await this.#marker())?.expected !== true);
      return;
    }
    await this.#waitUntil(async () => finishedStatuses.includes(Number((await this.caller.get(`/job/${job}`)).json.status)));
    const { status, log } = (await this.caller.get(`/job/${job}`)).json as { status?: number; log?: unknown };
    if (status !== 3) return this.fault(`a conversion ended with ${String(status)}: ${JSON.stringify(log)}`);
    await this.verify();
  }

  /** Sends a request about the large image, unless the item has none. */
  async #requestIfLarge(method: string): Promise<boolean> {
    if ((await this.#marker()) === undefined) return true;
    return this.succeeds(() => this.caller.request(method, `/item/${this.#item}/tiles`));
  }

  async #marker(): Promise<{ expected?: boolean; fileId?: string } | undefined> {
    return (await this.caller.get(`/item/${this.#item}`)).json.largeImage as { expected?: boolean } | undefined;
  }

  async #waitUntil(isDone: () => Promise<boolean>): Promise<void> {
    const deadline = performance.now() + 120_000;
    while (!(await isDone())) {
      if (performance.now() > deadline) return this.fault(`a conversion of ${this.#item} does not end`);
      await pause(200);
    }
  }

  async verify(): Promise<void> {
    await this.#waitUntil(async () => (await this.#marker())?.expected !== true);
    const marker = await this.#marker();
    if (marker === undefined) return;
    const files = await this.caller.list(`/item/${this.#item}/files`);
    if (!files.some(({ _id }) => _id === marker.fileId)) this.fault(`item ${this.#item} is served from a file it has not`);
    const { status } = await this.caller.get(`/item/${this.#item}/tiles/zxy/0/0/0`);
    if (status !== 200) this.fault(`item ${this.#item}: its tile is answered with ${status}`);
  }
}
