import { cacheRoutes } from './caches.js';
import { configurationRoutes } from './configuration.js';
import { creationRoutes } from './creation.js';
import { publicRoutes } from './public.js';

/** Routes below `/large_image` that concern the server as a whole. */
export const administrationRoutes = [...cacheRoutes, ...configurationRoutes, ...creationRoutes, ...publicRoutes];
