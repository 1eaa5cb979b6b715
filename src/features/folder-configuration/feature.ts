import type { Core } from '../../core/core.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import type { Items } from '../items/items.js';
import type { Settings } from '../settings/settings.js';
import { ConfigurationItems } from './configuration-items.js';
import { ConfigurationMarks } from './configuration-marks.model.js';
import { FolderConfiguration } from './folder-configuration.js';
import { YamlTexts } from './yaml-texts.js';
import { yamlConfigRoutes } from './yaml-config.routes.js';

/** Other features and parts of the core that this feature uses. */
interface FolderConfigurationNeeds {
  core: Core;
  settings: Settings;
  items: Items;
}

/** Configurations of folders in YAML, with sections for groups and users. Folders inherit the configurations of the folders above. */
export const folderConfigurationFeature: Feature<FolderConfigurationNeeds, { folderConfiguration: FolderConfiguration }> = {
  async open({ core: { host, records, leases, logger }, settings, items }, onClose) {
    const marks = new ConfigurationMarks(records.parts);
    await marks.createIndexes();
    const texts = new YamlTexts();
    onClose(() => texts.close());
    const configurationItems = new ConfigurationItems({ records, marks, files: host.files, host, logger, leases });
    const folderConfiguration = new FolderConfiguration({
      records,
      items,
      settings,
      directory: host.directory,
      configurationItems,
      texts,
    });
    const routes = bindRoutes(yamlConfigRoutes, { folderConfiguration, items });
    return { offers: { folderConfiguration }, routes, sweep: () => configurationItems.sweep() };
  },
};
