import type { FileSettings } from '../../configuration-text/read-settings.js';
import type { WorkerHost } from '../../host.js';
import type { InstallOptions } from '../../installation.js';
import { bindRoutes } from '../../http/route.js';
import { nonThrowingLogger } from '../../core/host/logger.js';
import type { Feature } from '../feature.js';
import { Configuration } from './configuration.js';
import { configurationRoutes } from './configuration.routes.js';

/** The configuration file of the server, which is read at startup and which administrators can replace. */
export const configurationFeature: Feature<
  { host: WorkerHost; options: InstallOptions },
  { configuration: Configuration; fileSettings: FileSettings }
> = {
  async open({ host, options }, onClose) {
    const configuration = new Configuration({
      env: options.env ?? process.env,
      brand: host.brand ?? 'service',
      logger: nonThrowingLogger(host.logger),
      ...(options.processes !== undefined && { processes: options.processes }),
      ...(options.configFile !== undefined && { path: options.configFile }),
      ...(host.restart && { restart: host.restart }),
    });
    onClose(() => configuration.close());
    const fileSettings = await configuration.loadSettings();
    const sweep = async () => ({ temporaryFiles: await configuration.sweep() });
    return { offers: { configuration, fileSettings }, routes: bindRoutes(configurationRoutes, { configuration }), sweep };
  },
};
