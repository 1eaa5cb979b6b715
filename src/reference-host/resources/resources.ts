import type { Model, QueryFilter, Types } from 'mongoose';
import { BadParameterError, iterateInSlices, InvalidError, readInSlices, searchWords } from '../../larger-host.js';
import type { HostContext } from '../context.js';
import type { AccessControlled, GrantedLevel } from '../access/access-list.model.js';
import type { CollectionDocument } from '../tree/collection.model.js';
import type { FolderDocument } from '../tree/folder.model.js';
import type { ItemDocument } from '../tree/item.model.js';
import type { UserDocument } from '../accounts/users/user.model.js';
import { createAccessFilter, createItemAccessFilter, levelOn, requireLevel, type Principal } from '../access/access.js';
import { loadAncestors, type FolderParent } from '../tree/folders.js';

/** A document of the tree, with the name of its model. */
export type Resource = FolderParent | { type: 'item'; doc: ItemDocument };

/** Splits a path such as `/collection/A\/B/C` into names. In it, `\/` is a slash within a name, and `\\` a backslash. */
function splitPath(path: string): string[] {
  const names = [''];
  for (let i = 0; i < path.length; i++) {
    const char = path[i]!;
    if (char === '\\' && i + 1 < path.length) names[names.length - 1] += path[++i]!;
    else if (char === '/') names.push('');
    else names[names.length - 1] += char;
  }
  return names.filter((name) => name !== '');
}

/** Escapes a name for a path. */
export function escapeName(name: string): string {
  return name.replace(/\\/g, '\\\\').replace(/\//g, '\\/');
}

/** Finds the document at a path, if the caller may read it. @throws InvalidError that names the path. */
export async function findByPath(context: HostContext, path: string, principal: Principal): Promise<Resource> {
  const names = splitPath(path);
  const [rootType, rootName, ...namesBelow] = names;
  if ((rootType !== 'collection' && rootType !== 'user') || rootName === undefined) throw new InvalidError('Invalid path format');
  const root = await findRoot(context, rootType, rootName);
  const isRootReadable = root !== null && levelOn(root.doc, principal) >= 0;
  // Callers who can read neither the root nor the document must not learn that the root exists.
  const createNotFoundError = () =>
    new InvalidError(
      isRootReadable
        ? `Path not found: ${names.join('/')}`
        : `${rootType === 'user' ? 'User' : 'Collection'} not found: ${rootName}`,
    );
  if (root === null || (namesBelow.length === 0 && !isRootReadable)) throw createNotFoundError();
  let resource: Resource = root;
  for (const name of namesBelow) {
    if (resource.type === 'item') throw createNotFoundError();
    const child: Resource | null = await findChild(context, resource, name, principal);
    if (child === null) throw createNotFoundError();
    resource = child;
  }
  return resource;
}

async function findRoot({ models }: HostContext, type: 'collection' | 'user', name: string): Promise<FolderParent | null> {
  if (type === 'collection') {
    const doc = await models.collection.findOne({ name }).lean<CollectionDocument>();
    return doc && { type, doc };
  }
  const doc = await models.user.findOne({ login: name.toLowerCase() }).lean<UserDocument>();
  return doc && { type, doc };
}

async function findChild(
  { models }: HostContext,
  parent: FolderParent,
  name: string,
  principal: Principal,
): Promise<Resource | null> {
  const folder = await models.folder.findOne({ parentId: parent.doc._id, name }).lean<FolderDocument>();
  if (folder !== null) return levelOn(folder, principal) >= 0 ? { type: 'folder', doc: folder } : null;
  if (parent.type !== 'folder' || levelOn(parent.doc, principal) < 0) return null;
  const item = await models.item.findOne({ folderId: parent.doc._id, name }).lean<ItemDocument>();
  return item === null ? null : { type: 'item', doc: item };
}

/** The path of a document. @throws AccessDeniedError if the caller cannot read all documents on it. */
export async function createPath(context: HostContext, resource: Resource, principal: Principal): Promise<string> {
  const documentsOnPath: Resource[] = [resource];
  if (resource.type === 'item') {
    const folder = await context.models.folder.findById(resource.doc.folderId).lean<FolderDocument>();
    if (folder !== null) documentsOnPath.unshift({ type: 'folder', doc: folder });
  }
  const outermostDocument = documentsOnPath[0]!;
  if (outermostDocument.type === 'folder') documentsOnPath.unshift(...(await loadAncestors(context, outermostDocument.doc)));
  for (const { type, doc } of documentsOnPath) if (type !== 'item') requireLevel(type, doc, principal, 0);
  const root = documentsOnPath[0]!;
  const names = documentsOnPath.map(({ type, doc }) => escapeName(type === 'user' ? doc.login : doc.name));
  return `/${root.type}/${names.join('/')}`;
}

/** Models that can be searched. */
export const searchedTypes = ['item', 'folder', 'collection', 'group', 'user'] as const;
export type SearchedType = (typeof searchedTypes)[number];

/** A search in one model: its text and options. */
export interface SearchRequest {
  query: string;
  mode: string;
  level: GrantedLevel;
  limit: number;
  offset: number;
}

/** Maximum length of the start of a name to search for. Databases limit the length of regular expressions. */
const maxPrefixLength = 1000;
/** Maximum number of matching documents that are ranked by how well they match. Further documents are not found. */
const maxRankedDocuments = 10_000;
/** A word in a name counts as much as this many words elsewhere. */
const nameWeight = 10;

interface SearchedDocument {
  _id: Types.ObjectId;
  words: string[];
  name?: string;
  lowerName?: string;
  login?: string;
}

/** Finds the documents of one model that match a search and on which the caller has the level, best first. */
export async function searchDocuments(
  context: HostContext,
  type: SearchedType,
  principal: Principal,
  request: SearchRequest,
): Promise<object[]> {
  // Only members that all searched models share are used here.
  const model = context.models[type] as unknown as Model<SearchedDocument>;
  const permissionFilter =
    type === 'item'
      ? await createItemAccessFilter(context, principal, request.level)
      : (createAccessFilter(principal, request.level) as QueryFilter<AccessControlled>);
  const searchFilter = createSearchFilter(type, request);
  if (searchFilter === null) return [];
  const filter = { $and: [searchFilter, permissionFilter] } as QueryFilter<SearchedDocument>;
  const { limit, offset, query, mode } = request;
  const endIndex = limit > 0 ? offset + limit : undefined;
  if (mode === 'prefix') {
    const prefixQuery = model.find(filter).sort({ lowerName: 1, _id: 1 }).skip(offset);
    return readInSlices((limit > 0 ? prefixQuery.limit(limit) : prefixQuery).lean());
  }
  const queryWords = new Set(searchWords(query));
  const computeScore = ({ name, login, words }: SearchedDocument) => {
    const nameWords = new Set(searchWords(name, login));
    return words.reduce((sum, word) => sum + (queryWords.has(word) ? (nameWords.has(word) ? nameWeight : 1) : 0), 0);
  };
  const candidates: { id: Types.ObjectId; score: number; name: string }[] = [];
  const wordQuery = model.find(filter, { name: 1, lowerName: 1, login: 1, words: 1 }).limit(maxRankedDocuments).lean();
  for await (const candidate of iterateInSlices<SearchedDocument>(wordQuery)) {
    candidates.push({ id: candidate._id, score: computeScore(candidate), name: candidate.lowerName ?? candidate.login ?? '' });
  }
  const rankedCandidates = candidates
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
    .slice(offset, endIndex);
  const documents = await readInSlices<SearchedDocument>(
    model.find({ _id: { $in: rankedCandidates.map(({ id }) => id) } }).lean(),
  );
  const documentsById = new Map(documents.map((document) => [document._id.toHexString(), document]));
  return rankedCandidates.map(({ id }) => documentsById.get(id.toHexString())).filter((document) => document !== undefined);
}

/** Creates a filter for documents that match a search; `null` if none can match. */
function createSearchFilter(type: SearchedType, { mode, query }: SearchRequest): QueryFilter<SearchedDocument> | null {
  if (mode === 'text') {
    const words = searchWords(query);
    return words.length === 0 ? null : { words: { $in: words } };
  }
  if (mode === 'prefix') {
    if (query.length > maxPrefixLength) {
      throw new BadParameterError(`The beginning of a name for a search may have at most ${maxPrefixLength} characters.`);
    }
    const startCondition = { $regex: `^${query.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}` };
    if (type === 'user') return { $or: ['login', 'firstName', 'lastName'].map((field) => ({ [field]: startCondition })) };
    return { $or: [{ lowerName: startCondition }, { name: startCondition }] };
  }
  throw new BadParameterError(`Search mode handler '${mode}' not found.`);
}

/** Creates a filter for documents that have all words of a text. */
export function createWordsFilter(text: string | undefined): { words?: { $all: string[] } | { $in: string[] } } {
  if (text === undefined || text === '') return {};
  const words = searchWords(text);
  return { words: words.length === 0 ? { $in: [] } : { $all: words } };
}
