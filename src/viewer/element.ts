import { maySucceedLater, onRefusedToken, useServer, pollUntilTrue } from './api.js';
import { errorNotice, fill, h, messageOf, useMessageRoot } from './dom.js';
import { offerHelp } from './help.js';
import { openImage, requestImage } from './image/image-view.js';
import { addTranslation, currentLanguage, useLanguage, type Translation } from './languages/catalog.js';
import type { ViewQuery } from './image/view-address.js';
import { imagePanels, panelNames, type PanelName } from './image/panels.js';
import { routeHash } from './router.js';
import type { Stage } from './stage/stage-contract.js';
import annotationStyle from './style/annotations.css';
import baseStyle from './style/base.css';
import commentStyle from './style/comments.css';
import elementStyle from './style/element.css';
import figureStyle from './style/figure.css';
import imageStyle from './style/image.css';
import { imageTexts } from './texts.js';

/** The visible part of an image: its center and its width in full-resolution pixels. */
export interface LargeImagePlace {
  x: number;
  y: number;
  width: number;
}

/** The `detail` of each event of the element. */
export interface LargeImageViewerEvents {
  /**
   * The image is open. Sizes are in full-resolution pixels; `mmX` is the width of a pixel in millimeters, `null` if the file does not state it.
   */
  'image-open': { item: string; name: string; sizeX: number; sizeY: number; mmX: number | null };
  /** The view has changed; `view` can be set as the attribute `view`. */
  'view-change': { view: string };
  /** Something cannot be shown; `message` is for people. */
  problem: { message: string };
  /** The token is no longer valid; the page should set another token. */
  'session-end': Record<string, never>;
}

const attributes = ['api-root', 'item', 'token', 'cookie', 'view', 'theme', 'panels', 'lang'] as const;

type Attribute = (typeof attributes)[number];

const defaults: Partial<Record<Attribute, string>> = { 'api-root': '/api/v1', view: '', panels: panelNames.join(' ') };

/** Servers that render pages have no `HTMLElement`. They can import this script, but the script does nothing there. */
const BrowserElement = globalThis.HTMLElement ?? (class {} as typeof HTMLElement);

/**
 * `<large-image-viewer api-root="/api/v1" item="…">`: a zoomable image with its annotations for any page. All elements of a page use the same
 * server, the same user and the same language.
 */
export class LargeImageViewer extends BrowserElement {
  static readonly observedAttributes = attributes;

  readonly #root = this.attachShadow({ mode: 'open' });
  /** Aborts when the image is closed or opened again. */
  #openingController: AbortController | null = null;
  #image: { stage: Stage; update: (view: URLSearchParams) => void } | null = null;
  /** The view in the last event `view-change`. */
  #lastEventView = '';
  /** The view to show when the same image is opened again. */
  #viewToRestore: { item: string | null; view: string } | null = null;
  #isOpeningScheduled = false;
  #refusedToken: string | null = null;

  /** Path or address of the REST API; default `/api/v1`. */
  declare apiRoot: string;
  /** Id of the item whose image is shown. */
  declare item: string | null;
  /** Token of the user; without a token, only public items are shown. */
  declare token: string | null;
  /** Name of a cookie that contains the token, used if `token` is not set. Scripts must be able to read the cookie. */
  declare cookie: string | null;
  /** The view, as in addresses of the reference host: `at=x,y,width&frame=2&channels=…&light=…&hide=…&coloring=…&comment=…`. */
  declare view: string;
  /** `light` or `dark`; `null` means the theme of the user's system. */
  declare theme: string | null;
  /** Panels next to the image, as names separated by spaces: `frames look annotations comments image`. By default, all panels are shown; an empty text shows none. */
  declare panels: string;

  static {
    for (const name of attributes) {
      // Every HTML element already has the property `lang`.
      if (name === 'lang') continue;
      Object.defineProperty(this.prototype, name === 'api-root' ? 'apiRoot' : name, {
        get(this: LargeImageViewer) {
          return (name === 'view' && this.#lastEventView) || (this.getAttribute(name) ?? defaults[name] ?? null);
        },
        set(this: LargeImageViewer, value: string | null | undefined) {
          // Frameworks set `undefined` for attributes that are left out.
          if (value === null || value === undefined) this.removeAttribute(name);
          else this.setAttribute(name, value);
        },
      });
    }
  }

  /** Moves the view to a position. Does nothing before `image-open`. */
  goTo(place: LargeImagePlace): void {
    this.#image?.stage.goTo(place);
  }

  /** Shows the whole image. */
  goHome(): void {
    this.#image?.stage.goHome();
  }

  /** @param factor above 1 zooms in */
  zoomBy(factor: number): void {
    this.#image?.stage.zoomBy(factor);
  }

  connectedCallback(): void {
    this.#openSoon();
  }

  disconnectedCallback(): void {
    this.#close();
  }

  attributeChangedCallback(name: Attribute, before: string | null, value: string | null): void {
    // A cookie with the same name may have another value now.
    if ((before === value && name !== 'cookie') || !this.isConnected) return;
    if (name === 'view') this.#viewToRestore = null;
    if (name === 'theme') this.#applyTheme();
    else if (name === 'lang') this.redraw();
    else if (name === 'view' && this.#image) this.#image.update(new URLSearchParams(value ?? ''));
    else this.#openSoon();
  }

  #dispatch<K extends keyof LargeImageViewerEvents>(name: K, detail: LargeImageViewerEvents[K]) {
    this.dispatchEvent(new CustomEvent(name, { detail, bubbles: true, composed: true }));
  }

  #applyTheme() {
    this.style.colorScheme = this.theme === 'light' || this.theme === 'dark' ? this.theme : '';
  }

  /** Opens the image once after several attributes are set at the same time. */
  #openSoon() {
    if (this.#isOpeningScheduled) return;
    this.#isOpeningScheduled = true;
    queueMicrotask(() => {
      this.#isOpeningScheduled = false;
      if (this.isConnected) void this.#open();
    });
  }

  /** The language of the closest element with the attribute `lang`, which may be this element. */
  #languageTag() {
    return this.closest('[lang]')?.getAttribute('lang') ?? document.documentElement.lang;
  }

  /** Draws the same view again, after the language has changed. */
  redraw(): void {
    // While the image is being opened, it has no view yet, so `#viewToRestore` is kept.
    if (this.#image) this.#viewToRestore = { item: this.item, view: this.view };
    this.#openSoon();
  }

  #currentToken(): string | null {
    const name = `${this.cookie ?? ''}=`;
    const pair = document.cookie.split('; ').find((candidate) => candidate.startsWith(name));
    return this.token ?? (pair === undefined ? null : decodeURIComponent(pair.slice(name.length)));
  }

  #close() {
    this.#openingController?.abort();
    this.#image = null;
  }

  async #open(): Promise<void> {
    const viewToRestore = this.#viewToRestore;
    this.#close();
    this.#lastEventView = '';
    const controller = new AbortController();
    this.#openingController = controller;
    const { signal } = controller;
    await useLanguage(this.#languageTag());
    if (signal.aborted) return;
    const stage = h('section.stage.grow', { 'aria-label': imageTexts.image });
    const panel = h('aside.side-panel', { 'aria-label': imageTexts.about });
    const announcers = ['announcer', 'hidden-announcer'].map((announcerId) =>
      h('div.visually-hidden', { id: announcerId, role: 'status', 'aria-live': 'polite' }),
    );
    offerHelp(this.#root, signal);
    this.#root.adoptedStyleSheets = styleSheets();
    // The texts may be in another language than the element, if there are no texts in the element's language.
    fill(this.#root, h('div.viewer', { lang: currentLanguage() }, stage, panel), ...announcers);
    this.#applyTheme();
    const { item: id } = this;
    if (id === null) return;
    try {
      useServer({ apiRoot: this.apiRoot, token: this.#currentToken() });
      useMessageRoot(this.#root);
      const { item, metadata } = await requestImage(id, signal);
      const image = await openImage({
        element: stage,
        item,
        metadata,
        query: new URLSearchParams(viewToRestore?.item === id ? viewToRestore.view : (this.getAttribute('view') ?? '')),
        onAddress: (query) => this.#dispatchViewChange(query),
        onProblem: (message) => this.#dispatch('problem', { message }),
        onRetry: () => this.#openSoon(),
        signal,
      });
      signal.throwIfAborted();
      this.#image = image;
      this.#viewToRestore = null;
      const chosenPanels = this.panels.split(/\s+/) as PanelName[];
      fill(panel, ...imagePanels(image, metadata, chosenPanels));
      panel.hidden = !panel.hasChildNodes();
      const { sizeX, sizeY, mm_x: mmX } = metadata;
      this.#dispatch('image-open', { item: id, name: item.name, sizeX, sizeY, mmX });
    } catch (error) {
      if (signal.aborted) return;
      fill(stage, errorNotice(error));
      panel.hidden = true;
      this.#dispatch('problem', { message: messageOf(error) });
      if (!maySucceedLater(error)) return;
      await pollUntilTrue(() => requestImage(id, signal).then(Boolean, (retryError) => !maySucceedLater(retryError)), signal);
      if (!signal.aborted) this.#openSoon();
    }
  }

  #dispatchViewChange(query: ViewQuery): void {
    const view = routeHash('', '', query).replace(/^#\??/, '');
    if (view === this.#lastEventView) return;
    this.#lastEventView = view;
    this.#dispatch('view-change', { view });
  }

  /** Tells the page, once for each token, that the server has refused the token. */
  tokenRefused(): void {
    const token = this.#currentToken();
    if (token === null || token === this.#refusedToken) return;
    this.#refusedToken = token;
    this.#dispatch('session-end', {});
  }
}

let cachedStyleSheets: CSSStyleSheet[] | null = null;

/** The style sheets. They are created by a script, because security policies may forbid style elements. */
function styleSheets() {
  cachedStyleSheets ??= [baseStyle, imageStyle, figureStyle, annotationStyle, commentStyle, elementStyle].map((text) => {
    const styleSheet = new CSSStyleSheet();
    styleSheet.replaceSync(text.replaceAll(':root', ':host'));
    return styleSheet;
  });
  return cachedStyleSheets;
}

const allViewers = () => document.querySelectorAll<LargeImageViewer>('large-image-viewer');

onRefusedToken(() => {
  for (const element of allViewers()) element.tokenRefused();
});

function redrawAll() {
  for (const element of allViewers()) element.redraw();
}

// Applications that let the user choose a language set the attribute `lang` of the document.
if (globalThis.MutationObserver) new MutationObserver(redrawAll).observe(document.documentElement, { attributeFilter: ['lang'] });

/**
 * Adds the texts of a language. A viewer uses these texts if its attribute `lang`, or that of an element around the viewer, names the language.
 * Missing texts stay in English.
 *
 * @param language a language tag, such as `fr`; it also applies to `fr-CH`
 * @param texts the texts by area, or a function that returns them, which is called when the language is used for the first time
 */
export function translate(language: string, texts: Translation | (() => Promise<Translation>)): void {
  addTranslation(language, texts);
  if (globalThis.document) redrawAll();
}

const registry = globalThis.customElements as CustomElementRegistry | undefined;
if (registry?.get('large-image-viewer') === undefined) registry?.define('large-image-viewer', LargeImageViewer);

declare global {
  interface HTMLElementTagNameMap {
    'large-image-viewer': LargeImageViewer;
  }
  /** These events are declared for every element, because they bubble. */
  interface HTMLElementEventMap {
    'image-open': CustomEvent<LargeImageViewerEvents['image-open']>;
    'view-change': CustomEvent<LargeImageViewerEvents['view-change']>;
    problem: CustomEvent<LargeImageViewerEvents['problem']>;
    'session-end': CustomEvent<LargeImageViewerEvents['session-end']>;
  }
}
