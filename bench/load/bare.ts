// Express alone, which serves the bytes of a file. It shows what this machine can do at its current load.
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { serveParent } from '../support/children.js';

const bytes = await readFile(process.argv[2]!);
const app = express();
app.get('/tile', (_request, response) => {
  response.type('image/jpeg').send(bytes);
});
const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
await serveParent(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {}, async () => {
  server.closeAllConnections();
  server.close();
});
