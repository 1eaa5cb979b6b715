import type { DetailedHTMLProps, HTMLAttributes } from 'react';
import type { LargeImageViewer, LargeImageViewerEvents } from './element.js';

export * from './element.js';

type Listeners = { [K in keyof LargeImageViewerEvents as `on${K}`]?: (event: CustomEvent<LargeImageViewerEvents[K]>) => void };

/** Attributes of `<large-image-viewer>`, and, from React 19 on, listeners for its events. */
// oxlint-disable-next-line typescript/no-redundant-type-constituents -- React's types are the user's, and are not installed here
type LargeImageViewerProps = DetailedHTMLProps<HTMLAttributes<LargeImageViewer>, LargeImageViewer> &
  Listeners & {
    'api-root'?: string | undefined;
    item?: string | undefined;
    token?: string | undefined;
    cookie?: string | undefined;
    view?: string | undefined;
    theme?: 'light' | 'dark' | undefined;
    panels?: string | undefined;
  };

declare module 'react' {
  namespace JSX {
    interface IntrinsicElements {
      'large-image-viewer': LargeImageViewerProps;
    }
  }
}
