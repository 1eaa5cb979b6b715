import type { EnteredScale } from '../core/entered-scale.js';
import type { TileSource } from './tile-source.js';

/** Returns the source with the size of a pixel that a user has entered, if there is one. Everything else is unchanged. */
export function applyEnteredScale(source: TileSource, scale: EnteredScale | null | undefined): TileSource {
  if (!scale) return source;
  const metadata = { ...source.metadata, ...scale, isScaleEntered: true };
  // Sources may be classes with private fields, so their methods need the original object.
  return new Proxy({} as TileSource, {
    has: (_target, name) => name in source,
    get(_target, name) {
      if (name === 'metadata') return metadata;
      const member: unknown = Reflect.get(source, name);
      return typeof member === 'function' ? (member.bind(source) as unknown) : member;
    },
  });
}
