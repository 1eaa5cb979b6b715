import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { CachedFileModel } from '../cached-files/cached-file.model.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { ConfigurationItems } from './configuration-items.js';
import { DistributedLock } from './distributed-lock.js';
import { FolderConfiguration } from './folder-configuration.js';
import { YamlTexts } from './yaml-texts.js';
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
  open({ core: { host, records, logger }, settings, items, claims }, onClose) {
    const texts = new YamlTexts();
    onClose(() => texts.close());
    const lock = new DistributedLock({ claims, logger });
    const stored = new ConfigurationItems({ records, files: host.files, host, logger, lock });
    const folderConfiguration = new FolderConfiguration({ records, items, settings, directory: host.directory, stored, texts });
    const routes = bindRoutes(yamlConfigRoutes, { folderConfiguration, items });
    return { offers: null, routes, sweep: () => stored.sweep() };
  },
};
