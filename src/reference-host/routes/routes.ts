import type { RouteDefinition } from '../../index.js';
import type { HostContext } from '../context.js';
import { apiKeyRoutes } from './api-key.js';
import { collectionRoutes } from './collection.js';
import { fileRoutes } from './file.js';
import { folderRoutes } from './folder.js';
import { groupRoutes } from './group.js';
import { itemRoutes } from './item.js';
import { notificationRoutes } from './notification.js';
import { resourceRoutes } from './resource.js';
import { signInRoutes } from './sign-in.js';
import { systemRoutes } from './system.js';
import { tokenRoutes } from './token.js';
import { uploadRoutes } from './upload.js';
import { userRoutes } from './user.js';

/** Every route of the host. */
export const hostRoutes: readonly RouteDefinition<HostContext>[] = [
  ...signInRoutes,
  ...userRoutes,
  ...tokenRoutes,
  ...apiKeyRoutes,
  ...groupRoutes,
  ...collectionRoutes,
  ...folderRoutes,
  ...itemRoutes,
  ...uploadRoutes,
  ...fileRoutes,
  ...resourceRoutes,
  ...notificationRoutes,
  ...systemRoutes,
];
