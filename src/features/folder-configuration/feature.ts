import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { CachedFileModel } from '../cached-files/cached-file.model.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { Exclusive } from './distributed-lock.js';
import { FolderConfiguration } from './folder-configuration.js';
import { yamlConfigRoutes } from './yaml-config.routes.js';

/** What the feature needs. */
interface FolderConfigurationNeeds {
  core: Core;
  settings: Settings;
  items: Items;
  claims: CachedFileModel;
}

/** Configuration of folders in YAML, inherited from the folders above and by group and user. */
export const folderConfigurationFeature: Feature<FolderConfigurationNeeds, null> = {
  name: 'folder-configuration',
  open({ core: { host, records, logger }, settings, items, claims }) {
    const folderConfiguration = new FolderConfiguration({
      records,
      items,
      settings,
      files: host.files,
      directory: host.directory,
      createItem: host.createItem,
      exclusive: new Exclusive({ claims, logger }),
    });
    return { offers: null, routes: bindRoutes(yamlConfigRoutes, { folderConfiguration, items }) };
  },
};
