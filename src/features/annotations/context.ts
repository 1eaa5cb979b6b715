import type { HostRecords } from '../../core/host/host-records.js';
import { routeDefiner } from '../../http/route.js';
import type { Items } from '../items/items.js';
import type { AnnotationServices } from './annotation-services.js';

/** The context of the annotation routes. */
export interface AnnotationContext {
  annotations: AnnotationServices;
  items: Items;
  records: HostRecords;
  /** Ends all event streams when it aborts, because the server is closing. */
  streamsEnd: AbortSignal;
}

/** Declares a route of this feature. */
export const defineRoute = routeDefiner<AnnotationContext>();
