// Runs in a browser, and reads an OME-Zarr store as web viewers do: the first rows of a channel at the second level, by zarrita
// and by Viv.
import { loadOmeZarr } from '@vivjs/loaders';
import * as zarrita from 'zarrita';

/** The result of reading with zarrita and Viv. */
export interface ReadStore {
  zarrita: number[];
  viv: number[];
  shape: number[];
  levels: number;
  channels: string[];
}

async function readStore(url: string): Promise<ReadStore> {
  const group = await zarrita.open(new zarrita.FetchStore(url), { kind: 'group' });
  const array = await zarrita.open(group.resolve('1'), { kind: 'array' });
  const { data } = await zarrita.get(array, [1, zarrita.slice(0, 4), zarrita.slice(0, 256)]);
  const viv = await loadOmeZarr(url, { type: 'multiscales' });
  const tile = await viv.data[1]!.getTile({ x: 0, y: 0, selection: { c: 1 } });
  const { omero } = viv.metadata as { omero?: { channels: { label: string }[] } };
  return {
    zarrita: [...(data as Uint8Array)],
    viv: Array.from(tile.data).slice(0, tile.width * 4),
    shape: array.shape,
    levels: viv.data.length,
    channels: (omero?.channels ?? []).map(({ label }) => label),
  };
}

Object.assign(globalThis, { readStore });
