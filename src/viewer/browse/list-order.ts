import { ApiError, request } from '../api.js';
import { naturalOrder } from './browse-model.js';

/** The parameters of an address that describe a list of items: its order and its filter. */
export interface ListAddress {
  /** a name of {@link namedOrders}, or the name of a field, with `-` in front for descending order; `null` for the order of the folder */
  sort: string | null;
  /** the text of the filter */
  find: string | null;
}

/** The request parameters that order a list. */
type OrderQuery = { sort: string; sortdir: 1 | -1 };

/** The orders that have a name in the address. */
const namedOrders: Record<string, OrderQuery> = {
  name: { sort: naturalOrder, sortdir: 1 },
  newest: { sort: 'created', sortdir: -1 },
  largest: { sort: 'size', sortdir: -1 },
};

export function readListAddress(query: URLSearchParams): ListAddress {
  return { sort: query.get('sort'), find: query.get('find') };
}

/** The parameters of an order; `null` for the order of the folder. */
export function orderParameters(sort: string | null): OrderQuery | null {
  if (sort === null) return null;
  const isDescending = sort.startsWith('-');
  const field = isDescending ? sort.slice(1) : sort;
  const namedOrder = Object.hasOwn(namedOrders, sort) ? namedOrders[sort] : undefined;
  return namedOrder ?? { sort: JSON.stringify([[field, isDescending ? -1 : 1]]), sortdir: 1 };
}

/** How a folder is configured to show its items. */
export interface ListSettings {
  /** metadata in columns, such as `meta.stain` */
  columns: string[];
  /** the order, as the parameter `sort` of requests; `null` for none */
  sort: string | null;
}

interface ConfigurationEntry {
  type?: unknown;
  value?: unknown;
  dir?: unknown;
}

/** Reads how a folder is configured to show its items. A configuration that is missing or invalid is ignored. */
export async function readListSettings(folderId: string, signal: AbortSignal): Promise<ListSettings> {
  let configuration: unknown = null;
  try {
    configuration = await request('GET', `folder/${folderId}/yaml_config/.large_image_config.yaml`, { signal });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error;
  }
  const listConfiguration = (configuration as { itemList?: { columns?: unknown; defaultSort?: unknown } } | null)?.itemList;
  const entriesOf = (list: unknown) =>
    (Array.isArray(list) ? (list as (ConfigurationEntry | null)[]) : []).flatMap((entry) => entry ?? []);
  const columns = entriesOf(listConfiguration?.columns).flatMap(({ type, value }) =>
    type === 'metadata' ? `meta.${String(value)}` : [],
  );
  const order = entriesOf(listConfiguration?.defaultSort)
    .filter(({ value }) => typeof value === 'string' && value !== '')
    // In these files, ascending order is called `down`.
    .map(({ type, value, dir }) => [type === 'metadata' ? `meta.${String(value)}` : String(value), dir === 'down' ? 1 : -1]);
  return { columns, sort: order.length > 0 ? JSON.stringify(order) : null };
}
