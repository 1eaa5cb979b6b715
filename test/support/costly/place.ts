import type { Answer, Client, Sending } from '../hosts/client.js';
import { newFolder, pyramid, uploadItem } from '../images/images.js';

export const repeated = (text: string, length: number) => text.repeat(Math.ceil(length / text.length));
export const list = (entry: string, length: number) => `[${repeated(`${entry},`, length)}${entry}]`;
export const mebibyte = 1024 * 1024;
export const asGet = { 'X-HTTP-Method-Override': 'GET' };
export const json = { 'Content-Type': 'application/json' };
export const plain = { 'Content-Type': 'text/plain' };

/** The subjects of costly requests. */
export interface Subjects {
  folder: string;
  slide: string;
  item: string;
  annotation: string;
  upload: (name: string, content: string | Uint8Array) => Promise<string>;
}

export type Send = (
  place: Subjects,
  send: (method: string, path: string, sending?: Sending) => Promise<Answer>,
) => Promise<Answer>;

/** A request with the worst text that the server accepts, at its limit, and the status of the response. */
export type CostlyRow = [what: string, status: number, send: Send];

/** Creates the subjects of costly requests on a new server. The administrator sends the requests. */
export async function createSubjects(admin: Client): Promise<Subjects> {
  const folder = await newFolder(admin, 'Public', true);
  const slide = await uploadItem(admin, folder, 'slide.tif', await pyramid());
  const item = await admin.create('/item', { folderId: folder, name: 'item' });
  const annotation = await admin.ok('POST', '/annotation', { query: { itemId: item }, json: { name: 'a', elements: [] } });
  const upload = (name: string, content: string | Uint8Array) => uploadItem(admin, folder, name, Buffer.from(content));
  return { folder, slide, item, annotation: String(annotation._id), upload };
}
