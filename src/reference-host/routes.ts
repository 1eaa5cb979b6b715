import type { RouteDefinition } from '../larger-host.js';
import type { HostContext } from './context.js';
import { apiKeyRoutes } from './accounts/api-keys/api-key.routes.js';
import { collectionRoutes } from './tree/collection.routes.js';
import { fileRoutes } from './files/file.routes.js';
import { folderRoutes } from './tree/folder.routes.js';
import { groupRoutes } from './groups/group.routes.js';
import { membershipRoutes } from './groups/membership.routes.js';
import { itemRoutes } from './tree/item.routes.js';
import { notificationRoutes } from './notifications/notification.routes.js';
import { resourceRoutes } from './resources/resource.routes.js';
import { sharedRoutes } from './access/shared.routes.js';
import { stateRoutes } from './resources/states.routes.js';
import { signInRoutes } from './accounts/sign-in/sign-in.routes.js';
import { systemRoutes } from './system/system.routes.js';
import { tokenRoutes } from './accounts/tokens/token.routes.js';
import { trashRoutes } from './trash/trash.routes.js';
import { uploadRoutes } from './uploads/upload.routes.js';
import { userRoutes } from './accounts/users/user.routes.js';
import { neighborRoutes } from './web-clients/neighbors.routes.js';
import { queryRoutes } from './web-clients/queries.routes.js';
import { webClientRoutes } from './web-clients/system.routes.js';

/** Every route of the host. */
export const hostRoutes: readonly RouteDefinition<HostContext>[] = [
  ...signInRoutes,
  ...userRoutes,
  ...tokenRoutes,
  ...apiKeyRoutes,
  ...groupRoutes,
  ...membershipRoutes,
  ...collectionRoutes,
  ...folderRoutes,
  ...itemRoutes,
  ...uploadRoutes,
  ...fileRoutes,
  ...resourceRoutes,
  ...sharedRoutes,
  ...stateRoutes,
  ...trashRoutes,
  ...notificationRoutes,
  ...systemRoutes,
  ...webClientRoutes,
  ...neighborRoutes,
  ...queryRoutes,
];
