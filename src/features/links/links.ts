import { createHash, randomBytes } from 'node:crypto';
import { batches } from '../../core/database/id-batches.js';
import { FreshCache } from '../../core/concurrency/fresh-cache.js';
import { verdictLifetimeMs } from '../../core/host/callers.js';
import type { LinkHolder } from '../../core/host/link-holder.js';
import type { FolderRecord, ItemRecord } from '../../core/host/records.js';
import { AccessDeniedError, InvalidError, LargeImageError, UnknownIdError } from '../../errors.js';
import type { Caller, HostAuth, HostLogger } from '../../host.js';
import { scopes } from '../../http/scopes.js';
import type { Images } from '../images/images.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import type { LinkChange, LinkDocument, LinkModel } from './link.model.js';
import { linkKinds, type LinkKind, type LinkSubject } from './link-kinds.js';
import { WrongTokens } from './wrong-tokens.js';

const dayMs = 24 * 60 * 60 * 1000;
/** How long a link lasts by default. */
const defaultLifetimeMs = 7 * dayMs;
/** Maximum lifetime of a link that ends. */
const maxLifetimeMs = 10 * 366 * dayMs;
/** Length of a token in bytes: 256 bits, which nobody can guess. */
const tokenBytes = 32;
const prefixLength = 6;
/** Maximum length of a name in characters. */
const maxNameLength = 200;
/** Maximum number of links, except ended ones, that a user can have to one item or folder. */
const maxCurrentLinks = 100;
/** Links are removed this long after they have ended, so that their makers can see that they have ended. */
const keepEndedMs = 30 * dayMs;
/** Minimum time between two updates of the last use of a link, in milliseconds. */
const minUseRecordIntervalMs = 60_000;
/** Maximum number of tokens whose grant is cached, and of links whose last recorded use is remembered. */
const maxRememberedLinks = 10_000;
/** In a header, the token of a link to a page follows this prefix. */
export const pageTokenPrefix = 'view-link.';

/** A link found by its token, with the rights that it gives. */
export interface LinkGrant {
  link: LinkDocument;
  /** The maker with their current rights, and a scope that only reads. */
  caller: Caller;
}

/** A link to be created. */
export interface NewLink {
  subject: LinkSubject;
  name?: string | undefined;
  /** Default: everything that this server can open, except the page. */
  opens?: readonly string[] | undefined;
  associated?: boolean | undefined;
  /** Whether the page shows annotations. Default true. */
  annotations?: boolean | undefined;
  /** `null` for a link that does not end. Default: in seven days. */
  expires?: Date | null | undefined;
}

/** Options of {@link Links}. */
export interface LinksOptions {
  model: LinkModel;
  auth: HostAuth;
  items: Items;
  images: Images;
  settings: Settings;
  logger: HostLogger;
}

/** Links that open an item or a folder to people and programs without an account. */
export class Links {
  readonly #kinds = new Set<LinkKind>();
  /** Grants by the digest of their token; `null` if no link has this token, or if the maker of the link can no longer sign in. */
  readonly #grants = new FreshCache<{ grant: LinkGrant | null }>({ max: maxRememberedLinks, lifetimeMs: verdictLifetimeMs });
  readonly #wrongTokens = new WrongTokens();
  /** When the use of a link was last stored, in milliseconds since 1970, by the digest of its token. */
  readonly #lastRecordedUses = new Map<string, number>();

  constructor(private readonly options: LinksOptions) {}

  /** Adds a kind of link that a feature serves. New links open it by default. */
  addKind(kind: LinkKind): void {
    this.#kinds.add(kind);
  }

  /** The kinds that this server serves. */
  get kinds(): readonly LinkKind[] {
    return linkKinds.filter((kind) => this.#kinds.has(kind));
  }

  /**
   * The access for a token in a path: the link, and the caller on whose behalf its holder reads. Routes use `caller` instead of the
   * caller of the request, and check each item with {@link Links.requireItem} or {@link Links.requireFolder}. Verdicts are cached for
   * {@link verdictLifetimeMs}.
   *
   * @throws LargeImageError `login-required` if no link has the token, or if the link has ended, does not open this kind, or its maker
   * can no longer sign in; `too-often` if the address has sent too many wrong tokens.
   */
  async requireGrant(token: string, kind: LinkKind, { address }: { address: string }): Promise<LinkGrant> {
    const digest = digestOf(token);
    const grantOrPromise = this.#grants.get(digest, (previous) => this.#findGrant(digest, address, previous?.grant ?? null));
    const { grant } = grantOrPromise instanceof Promise ? await grantOrPromise : grantOrPromise;
    if (grant === null || hasEnded(grant.link) || !grant.link.opens.includes(kind)) throw noLinkError();
    this.#recordUse(grant.link);
    return grant;
  }

  /**
   * The holder of a link to the page of an image, found by a token in a header of a request; `null` for tokens of other kinds. Each call
   * checks the image and the rights of the maker, mostly in caches.
   *
   * @throws LargeImageError as {@link Links.requireGrant} does, and `login-required` if the link's maker can no longer read the image.
   */
  findHolder(token: string, address: string): Promise<LinkHolder> | null {
    return token.startsWith(pageTokenPrefix) ? this.#makeHolder(token.slice(pageTokenPrefix.length), address) : null;
  }

  async #makeHolder(token: string, address: string): Promise<LinkHolder> {
    const grant = await this.requireGrant(token, 'view', { address });
    const { subject, annotations, associated } = grant.link;
    const item = await this.requireItem(grant, subject.type === 'item' ? subject.id : '');
    const limits = {
      itemId: item.id,
      allowsAnnotations: annotations,
      allowsAssociated: associated && (await this.showsAssociated(grant, item)),
    };
    return { ...grant.caller, limits };
  }

  /**
   * The item, if the link opens it and its maker can still read the item and all parts of its image.
   *
   * @throws LargeImageError `login-required` in all other cases, so that clients do not mistake a refusal for missing data.
   */
  async requireItem({ link: { subject }, caller }: LinkGrant, itemId: string): Promise<ItemRecord> {
    if (subject.type === 'item' && subject.id !== itemId) throw noLinkError();
    const item = await this.#refuseIfUnreadable(this.options.images.load(itemId, caller));
    if (subject.type === 'folder' && item.folderId !== subject.id) throw noLinkError();
    return item;
  }

  /**
   * The folder, if the link opens it and its maker can still read it. @throws LargeImageError `login-required` in all other cases.
   */
  async requireFolder({ link: { subject }, caller }: LinkGrant, folderId: string): Promise<FolderRecord> {
    if (subject.type !== 'folder' || subject.id !== folderId) throw noLinkError();
    return this.#refuseIfUnreadable(this.options.items.loadFolder(folderId, 0, caller));
  }

  /** Whether the link opens the label, macro and other associated images of an item. */
  async showsAssociated({ link, caller }: LinkGrant, item: ItemRecord): Promise<boolean> {
    return link.associated && this.options.images.showsAssociated(item, caller);
  }

  /** Makes a link. @returns the link, and its token, of which only a digest is stored. */
  async make({ subject, ...options }: NewLink, maker: Caller & { id: string }): Promise<{ link: LinkDocument; token: string }> {
    this.requireMakerLookup();
    const change = await this.#checkChange(subject, {
      opens: this.kinds,
      expires: new Date(Date.now() + defaultLifetimeMs),
      ...withoutUndefined(options),
    });
    if ((await this.options.model.countCurrent(subject, maker.id)) >= maxCurrentLinks) {
      const message = `You already have ${maxCurrentLinks} unexpired links to this ${subject.type}. Revoke some of them first.`;
      throw new LargeImageError('conflict', message);
    }
    const token = randomBytes(tokenBytes).toString('base64url');
    const link = await this.options.model.insert({
      name: '',
      associated: false,
      annotations: true,
      ...(change as Required<Pick<LinkChange, 'opens' | 'expires'>>),
      digest: digestOf(token),
      prefix: token.slice(0, prefixLength),
      subject,
      makerId: maker.id,
      created: new Date(),
      lastUsed: null,
    });
    this.#grants.delete(link.digest);
    return { link, token };
  }

  /** The links to a document, newest first. @param all lists the links of all makers, not only those of the caller. */
  list(subject: LinkSubject, caller: Caller & { id: string }, { all }: { all: boolean }): Promise<LinkDocument[]> {
    return this.options.model.list(subject, all ? undefined : caller.id);
  }

  /** Loads a link that the caller made, or a link to a document that the caller administers. */
  async load(id: string, caller: Caller & { id: string }): Promise<LinkDocument> {
    const link = await this.options.model.find(id);
    if (link === null) throw new UnknownIdError('link', id);
    if (link.makerId !== caller.id && !(await this.administers(link.subject, caller))) {
      throw new AccessDeniedError(`Link ${id} belongs to another user (${caller.id}).`);
    }
    return link;
  }

  /** Whether the caller administers the document of a link. */
  async administers({ type, id }: LinkSubject, caller: Caller): Promise<boolean> {
    if (caller.admin) return true;
    try {
      await (type === 'item' ? this.options.items.load(id, 2, caller) : this.options.items.loadFolder(id, 2, caller));
      return true;
    } catch (error) {
      if (error instanceof AccessDeniedError || error instanceof UnknownIdError) return false;
      throw error;
    }
  }

  async change({ _id, digest, subject }: LinkDocument, options: Omit<NewLink, 'subject'>): Promise<LinkDocument> {
    const id = _id.toHexString();
    const changedLink = await this.options.model.change(id, await this.#checkChange(subject, withoutUndefined(options)));
    this.#grants.delete(digest);
    if (changedLink === null) throw new UnknownIdError('link', id);
    return changedLink;
  }

  /** Ends a link: immediately in this process, within {@link verdictLifetimeMs} in other processes. */
  async revoke({ _id, digest }: LinkDocument): Promise<void> {
    await this.options.model.remove(_id.toHexString());
    this.#grants.delete(digest);
  }

  /** Drops all verdicts, for example after changes of permissions. */
  forgetVerdicts(): void {
    this.#grants.clear();
  }

  /** Removes the links to removed items or folders. */
  async removeOf(type: LinkSubject['type'], ids: readonly string[]): Promise<void> {
    for (const batch of batches(ids)) await this.options.model.removeOf(type, batch);
    this.forgetVerdicts();
  }

  /** Removes the links of a removed user. */
  async removeOfMaker(makerId: string): Promise<void> {
    await this.options.model.removeOfMaker(makerId);
    this.forgetVerdicts();
  }

  /** Removes links that ended long ago. */
  async sweep(): Promise<Record<string, number>> {
    return { links: await this.options.model.removeEnded(new Date(Date.now() - keepEndedMs)) };
  }

  /** @throws LargeImageError `not-implemented` on hosts that cannot look up the current rights of a link's maker. */
  requireMakerLookup(): void {
    if (this.options.auth.user !== undefined) return;
    const message =
      'Links cannot be created: the host has no auth.user, which is needed to check the permissions of a link when it is used.';
    throw new LargeImageError('not-implemented', message);
  }

  /** The level that users need on a document to make links to it; `null` if nobody can. */
  async levelToMakeLinks(): Promise<0 | 1 | null> {
    const value = await this.options.settings.get('large_image.links');
    return value === 'OFF' ? null : value === 'WRITE' ? 1 : 0;
  }

  async #findGrant(digest: string, address: string, previousGrant: LinkGrant | null): Promise<{ grant: LinkGrant | null }> {
    // A client whose token was valid before is not blocked by wrong tokens from the same address.
    if (previousGrant === null) this.#wrongTokens.requireUnderLimit(address);
    const link = await this.options.model.findByDigest(digest);
    if (link === null) this.#wrongTokens.countWrongToken(address);
    // The host may no longer have `auth.user`.
    const maker = link === null ? null : ((await this.options.auth.user?.(link.makerId)) ?? null);
    if (link === null || maker === null) return { grant: null };
    return { grant: { link, caller: { ...maker, scopes: [scopes.read], ...(link.expires && { expires: link.expires }) } } };
  }

  async #refuseIfUnreadable<R>(promise: Promise<R>): Promise<R> {
    try {
      return await promise;
    } catch (error) {
      if (error instanceof AccessDeniedError || error instanceof UnknownIdError) throw noLinkError(error);
      throw error;
    }
  }

  #recordUse({ _id, digest }: LinkDocument): void {
    const now = Date.now();
    if (now - (this.#lastRecordedUses.get(digest) ?? 0) < minUseRecordIntervalMs) return;
    if (this.#lastRecordedUses.size >= maxRememberedLinks) this.#lastRecordedUses.clear();
    this.#lastRecordedUses.set(digest, now);
    // The update runs in the background. The link works even if it fails.
    this.options.model.recordUse(_id, new Date(now)).catch((error: unknown) => {
      this.options.logger.warn({ err: error, link: _id.toHexString() }, 'Link:Touch:Failed');
    });
  }

  /** @throws InvalidError for a value that links cannot have. */
  async #checkChange(subject: LinkSubject, options: Omit<NewLink, 'subject'>): Promise<LinkChange> {
    const { name, opens, expires, associated, annotations } = options;
    if (name !== undefined && name.length > maxNameLength)
      throw new InvalidError(`name must have at most ${maxNameLength} characters.`, 'name');
    const unknownKind = opens?.find((kind) => !linkKinds.includes(kind as LinkKind));
    if (unknownKind !== undefined) {
      throw new InvalidError(`Links cannot open ${JSON.stringify(unknownKind)}. They open ${linkKinds.join(', ')}.`, 'opens');
    }
    if (opens?.length === 0) throw new InvalidError(`opens must name at least one of ${linkKinds.join(', ')}.`, 'opens');
    if (subject.type === 'folder' && opens?.includes('view') === true) {
      throw new InvalidError('Only a link to an item can open the page of an image (view).', 'opens');
    }
    if (expires === null && (await this.options.settings.get('large_image.links_without_end')) !== true) {
      throw new InvalidError(
        'expires must not be null: this server does not allow links that never expire (setting large_image.links_without_end).',
        'expires',
      );
    }
    const lifetimeMs = expires === undefined || expires === null ? 1 : expires.getTime() - Date.now();
    if (!(lifetimeMs > 0 && lifetimeMs <= maxLifetimeMs)) {
      throw new InvalidError('expires must be in the future, and within ten years.', 'expires');
    }
    return withoutUndefined({
      name,
      associated,
      annotations,
      expires,
      opens: opens && [...new Set(opens as readonly LinkKind[])],
    });
  }
}

function hasEnded({ expires }: LinkDocument): boolean {
  return expires !== null && expires.getTime() <= Date.now();
}

function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}

export function noLinkError(cause?: unknown): LargeImageError {
  return new LargeImageError(
    'login-required',
    'This link is invalid, has expired or was revoked.',
    cause === undefined ? {} : { cause },
  );
}

function withoutUndefined<T extends object>(members: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
