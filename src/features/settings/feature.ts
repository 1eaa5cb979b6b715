import type { Core } from '../../core/core.js';
import type { FileSettings } from '../../configuration-text/read-settings.js';
import { bindRoutes } from '../../http/route.js';
import type { Feature } from '../feature.js';
import { settingDefinitions } from './definitions.js';
import { SettingModel } from './setting.model.js';
import { Settings } from './settings.js';
import { settingRoutes } from './settings.routes.js';

/** Settings of plugin and host, stored in the database and served by `system/setting`. */
export const settingsFeature: Feature<{ core: Core; fileSettings: FileSettings }, Settings> = {
  async open({ core: { host, ownCollections, records }, fileSettings }) {
    const model = new SettingModel(ownCollections);
    await model.createIndexes();
    const folderExists = async (id: string) => (await records.findFolder(id)) !== null;
    const settings = new Settings(model, [...settingDefinitions({ folderExists }, fileSettings), ...(host.settings ?? [])]);
    return { offers: settings, routes: bindRoutes(settingRoutes, { settings }) };
  },
};
