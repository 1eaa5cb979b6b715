import { ApiError, request } from '../api.js';
import { errorNotice, fill, h } from '../dom.js';
import { isSame } from '../browse/browse-model.js';
import { associatedSection } from '../image/associated.js';
import { section, valueTree } from '../image/facts.js';
import { setUpPrinting } from '../figure/print.js';
import { openImage } from '../image/image-view.js';
import { imagePanels, panelNames } from '../image/panels.js';
import { replaceRoute, routeHash, type Route, type View, type ViewContext } from '../router.js';
import { sharingTexts } from '../sharing-texts.js';
import { browseTexts, imageTexts } from '../texts.js';

/** The page that a link opens: an image to look at, and nothing else. */
export async function linkedView(route: Route, { main, signal, refresh }: ViewContext): Promise<View> {
  try {
    const requestLinkView = () => request('GET', 'link/view', { signal });
    const linkView = await requestLinkView();
    const { item } = linkView;
    const metadata = await request('GET', `item/${item._id}/tiles`, { signal });
    signal.throwIfAborted();
    const stage = h('section.stage.grow', { 'aria-label': imageTexts.image });
    const panel = h('aside.side-panel', { 'aria-label': imageTexts.about });
    const heading = h('div.item-heading.row', h('h1.linked-title.clip', item.name));
    fill(main, h('div.item-layout', heading, h('div.stages', stage), panel));
    const onAddress = (query: Record<string, string | number | null>) => replaceRoute(routeHash('view', route.id, query));
    const onRetry = () => void refresh();
    const image = await openImage({ element: stage, item, metadata, query: route.query, onAddress, onRetry, signal });
    signal.throwIfAborted();
    const shownPanels = panelNames.filter((name) => name !== 'annotations' || linkView.annotations);
    const hasMetadata = Object.keys(item.meta).length > 0;
    fill(
      panel,
      ...imagePanels(image, metadata, shownPanels),
      hasMetadata && section(browseTexts.metadata, true, valueTree(item.meta)),
    );
    setUpPrinting({ main, currentTitle: () => item.name, image, signal });
    if (linkView.associated) void showAssociated(panel);
    return {
      title: item.name,
      update: (next) => image.update(next.query),
      hasChanged: async () => !isSame(linkView, await requestLinkView()),
    };

    async function showAssociated(target: HTMLElement) {
      const associated = await associatedSection(item, signal).catch((error: unknown) => errorNotice(error));
      if (associated && !signal.aborted) target.append(associated);
    }
  } catch (error) {
    if (signal.aborted || !(error instanceof ApiError) || error.status !== 401) throw error;
    const notice = h('p.notice.surface', { role: 'alert' }, sharingTexts.endedMore);
    fill(main, h('div.page.page-narrow.column', h('h1', sharingTexts.ended), notice));
    return { title: sharingTexts.ended };
  }
}
