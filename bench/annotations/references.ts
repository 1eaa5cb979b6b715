// The reference for annotation benchmarks, in its own process. Argument: database. Serves files by path with Express alone.
import { createReadStream } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import express from 'express';
import mongoose from 'mongoose';
import { median, timed } from '../support/measure.js';
import { serveParent } from '../support/children.js';

/** Requests to this process. */
export interface References {
  /** Time that JSON.parse takes for the text of a file, in milliseconds: the median of several measurements. */
  parseMs(path: string): Promise<number>;
  /** Time to find an annotation by its id in the database, in milliseconds: the median of many measurements. */
  findOneMs(id: string): Promise<number>;
}

const shortMs = 2000;

async function parse(path: string): Promise<number> {
  // The polygons are ASCII.
  const text = (await readFile(path)).toString('latin1');
  const times: number[] = [];
  do times.push((await timed(() => Promise.resolve(JSON.parse(text) as unknown)))[1]);
  while (times[0]! < shortMs && times.length < 5);
  return median(times);
}

const connection = await mongoose.createConnection(process.argv[2]!).asPromise();

async function findOne(id: string): Promise<number> {
  const annotations = connection.collection('large_image_annotation');
  const _id = new mongoose.Types.ObjectId(id);
  const times: number[] = [];
  while (times.length < 200) times.push((await timed(() => annotations.findOne({ _id }, { projection: { name: 1 } })))[1]);
  return median(times);
}

const app = express();
app.get('/file', (request, response) => {
  response.type('json');
  pipeline(createReadStream(request.query.path as string), response, () => undefined);
});
const server = createServer(app).listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
await serveParent(url, { parse, findOne }, async () => {
  server.closeAllConnections();
  server.close();
  await connection.close();
});
