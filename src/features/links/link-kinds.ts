/** The kinds of access that a link can give. A link gives `view`, the page of an image, only if its maker asks for it. */
export const linkKinds = ['zarr', 'dicomweb', 'view'] as const;

/** One of {@link linkKinds}. */
export type LinkKind = (typeof linkKinds)[number];

/** The item or folder that a link opens. */
export interface LinkSubject {
  type: 'item' | 'folder';
  id: string;
}
