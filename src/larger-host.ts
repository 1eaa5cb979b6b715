/**
 * The entry `express-large-image/host`, for servers that offer more than large images, such as the reference host. They declare,
 * check and describe their own routes like the plugin. The same promise of stability applies as for the main entry.
 */

// Settings of the plugin
export type { SettingDefinition } from './features/settings/definition.js';
export type { Settings } from './features/settings/settings.js';

// Helpers for hosts
export { eachWord, searchWords } from './features/annotations/documents/annotation-documents.model.js';
export { hasTooManyValues, maxStoredValues } from './core/database/stored-values.js';
export { KeyedQueues } from './core/concurrency/keyed-queues.js';
export { answerInTime } from './core/concurrency/answer-in-time.js';
export { batches, idsPerQuery, groupInBatches } from './core/database/id-batches.js';
export type { ItemList, ItemListRequest, ItemLists } from './features/items/item-lists.js';
export { parseSortOrder, type SortOrder } from './features/items/item-list-request.js';
export type { AnnotationMetadataSearch } from './features/annotations/documents/lists/metadata-search.js';
export type { MetadataSearch, MetadataSearchRequest, MetadataSearchResult } from './features/items/metadata-search.js';

// Access to the database, for hosts that support databases on PostgreSQL, or that wait until the database can be reached
export { isDatabaseOutage } from './core/database/outage.js';
export { iterateInSlices, limitReads, readInSlices, withoutReadLimit } from './core/database/read-limits.js';
export { repeatCollisions } from './core/database/refused-writes.js';

// Names of files in messages
export { shownName } from './tilesource/byte-reader.js';

// A logger that never throws, for hosts that are passed a logger
export { nonThrowingLogger as harmlessLogger } from './core/host/logger.js';

// Access lists, for hosts that also receive them from clients
export { readAccessList, readFlags, type GrantedAccess } from './http/access-list.js';

// The id of a request, for hosts that also answer in other ways
export { identifyRequests } from './http/serving/identify-requests.js';

// Conditions sent by clients, for hosts with their own queries
export { checkFilter } from './features/items/item-list-request.js';
export { runClientQuery } from './features/items/item-queries.model.js';

// Lists of settings, for hosts that also show them in other ways
export { settingsList } from './features/settings/settings.routes.js';

// Steps of writes, for hosts whose tests stop a process at each step
export { announceStep } from './core/steps.js';

// Errors
export {
  BadParameterError,
  BadValueError,
  errorBody,
  errorReplies,
  InvalidError,
  LevelDeniedError,
  NoLargeImageError,
  NotFoundError,
  TileOutsideError,
  TooOftenError,
  UnknownIdError,
  UnsatisfiableRangeError,
  type ErrorType,
} from './errors.js';

// Routes, for hosts whose own routes are checked, answered and described the same way
export {
  boolean,
  date,
  id,
  integer,
  isId,
  json,
  number,
  oneOf,
  paging,
  parseBoolean,
  required,
  sortDirection,
  text,
  withDefault,
  type Parameter,
  type ParameterSchema,
  type Parameters,
  type ParameterValues,
} from './http/parameters.js';
export {
  accessSchema,
  anyNumber,
  anyObject,
  anyText,
  anything,
  component,
  dateText,
  idText,
  itemSchema,
  listOf,
  mapOf,
  nothing,
  objectOf,
  orNull,
  schemaOf,
  shownAccess,
  anyBoolean,
  anyInteger,
  type RouteSchema,
  type Schema,
} from './http/schemas.js';
export { eventStream } from './http/event-stream.js';
export { rangeHeaders, requestedRange, type ByteRange } from './http/ranges.js';
export { Reply, type ReplyContent, type ReplyHeaders } from './http/reply.js';
export {
  routeDefiner,
  type RouteAccess,
  type RouteBody,
  type RouteBodyValues,
  type RouteDefinition,
  type RouteOutline,
  type RouteInput,
} from './http/route.js';
export { mountRoutes, type MountOptions, type RequestObserver } from './http/serving/mount.js';
export { answerUnknownPaths, hideLinkTokens } from './http/serving/unknown-paths.js';
export { hasScope } from './http/authentication.js';
export type { TokenLocations, VerifyToken } from './http/serving/request-tokens.js';
export { formatDate, toWire } from './core/wire.js';
export { respondWithError } from './http/serving/respond.js';
export { checkedPrefix, setPublicAddress, type PublicAddress } from './http/serving/public-address.js';
