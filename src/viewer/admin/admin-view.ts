import { ApiError } from '../api.js';
import { fill, h } from '../dom.js';
import { routeHash, type Route, type ViewContext, type View } from '../router.js';
import { currentUser } from '../session.js';
import { accountTexts } from '../texts.js';
import { adminTexts } from '../admin-texts.js';
import { configurationSection } from './configuration.js';
import { groupsSection } from './groups.js';
import { imagesSection } from './images.js';
import { jobsSection } from './jobs.js';
import { peopleSection } from './people.js';
import { serverSection } from './server.js';
import { settingsSection } from './settings.js';
import { thumbnailsSection } from './thumbnails.js';
import type { SectionBuilder } from './parts.js';

const sections: Record<string, SectionBuilder> = {
  '': serverSection,
  people: peopleSection,
  groups: groupsSection,
  maintenance: async (context) => (await Promise.all([imagesSection(context), thumbnailsSection(context)])).flat(),
  jobs: jobsSection,
  settings: settingsSection,
  configuration: configurationSection,
};

/** The administration, which shows one section at a time. */
export async function adminView(route: Route, { main, signal }: ViewContext): Promise<View> {
  const user = currentUser();
  if (user === null) throw new ApiError(401, adminTexts.administratorsFirst);
  if (!user.admin) throw new Error(adminTexts.administratorsOnly);
  const buildSection = Object.hasOwn(sections, route.id) ? sections[route.id] : undefined;
  if (buildSection === undefined) throw new Error(adminTexts.noSection(route.id));
  const content = await buildSection({ signal, route });
  signal.throwIfAborted();
  const createTab = (id: string) => {
    const attributes = { href: routeHash('admin', id), 'aria-current': id === route.id ? 'page' : null };
    return h('a', attributes, adminTexts.sections[id]);
  };
  const tabs = h('nav.tabs.wrap', { 'aria-label': accountTexts.administration }, ...Object.keys(sections).map(createTab));
  fill(main, h('div.page.admin.column', h('h1', accountTexts.administration), tabs, ...content));
  return { title: adminTexts.titleOf(adminTexts.sections[route.id] ?? '') };
}
