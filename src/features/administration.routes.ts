import { cacheRoutes } from './caches/caches.routes.js';
import { configurationRoutes } from './configuration/configuration.routes.js';
import { creationRoutes } from './creation/creation.routes.js';
import { publicRoutes } from './settings/public.routes.js';

/** Routes below `/large_image` that concern the server as a whole. */
export const administrationRoutes = [...cacheRoutes, ...configurationRoutes, ...creationRoutes, ...publicRoutes];
