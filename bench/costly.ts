/**
 * `npm run bench -- costly [WORDS]`: measures how long each request at the documented limits blocks the event loop of a server,
 * the best of three, against the 50 ms that docs/operations.md promises. If WORDS are given, only requests whose names contain
 * one of them are measured.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { costlyAnnotations } from '../test/support/costly/annotations.js';
import { costlyImages } from '../test/support/costly/images.js';
import { createSubjects } from '../test/support/costly/place.js';
import { costlyTexts } from '../test/support/costly/texts.js';
import { Client } from '../test/support/hosts/client.js';
import { startWatchedServer } from '../test/support/hosts/watched-server.js';
import { buildTestPrograms } from '../test/support/run/built-program.js';
import { benchDatabase } from './support/database.js';
import { printLoad } from './support/measure.js';

const limitMs = 50;
const rounds = 3;

const words = process.argv.slice(3);
const rows = [...costlyTexts, ...costlyAnnotations, ...costlyImages].filter(
  ([requestName]) => words.length === 0 || words.some((word) => requestName.includes(word)),
);
printLoad();

const folder = await mkdtemp(join(tmpdir(), 'bench-costly-'));
const [database, programs] = await Promise.all([benchDatabase(folder, 'embedded'), buildTestPrograms()]);
const server = await startWatchedServer({ programs: programs.folder, databaseUri: database.uri, dataDirectory: folder });
try {
  const query = { login: 'admin', email: 'admin@example.org', firstName: 'A', lastName: 'B', password: 'admin.password' };
  const user = await new Client(server.url, null, null).ok('POST', '/user', { query });
  const admin = new Client(server.url, (user.authToken as { token: string }).token, String(user._id));
  const place = await createSubjects(admin);
  let lateCount = 0;
  console.log('\nprocessor  clock  request (longest stretch of the event loop in ms)');
  for (const [requestName, status, send] of rows) {
    const times: { cpu: number; wall: number }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await server.work();
      const answer = await send(place, (method, path, sending) => admin.send(method, path, sending));
      times.push((await server.work()).stretches);
      if (answer.status !== status) console.log(`${requestName}: answered ${answer.status}, not ${status}`);
    }
    const cpu = Math.min(...times.map((each) => each.cpu));
    const wall = Math.min(...times.map((each) => each.wall));
    if (cpu > limitMs) lateCount += 1;
    console.log(
      `${cpu.toFixed(0).padStart(9)}${wall.toFixed(0).padStart(7)}  ${requestName}${cpu > limitMs ? `  (over ${limitMs} ms)` : ''}`,
    );
  }
  console.log(`\n${rows.length - lateCount} of ${rows.length} keep the loop for at most ${limitMs} ms.`);
} finally {
  await server.close();
  await database.stop();
  await programs.remove();
  await rm(folder, { recursive: true, force: true });
}
