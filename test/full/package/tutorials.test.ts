import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startTestDatabase } from '../../support/hosts/database.js';
import { startServer } from '../../support/hosts/server-process.js';
import { pyramid } from '../../support/images/images.js';
import { until } from '../../support/run/until.js';

const run = promisify(execFile);
const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');

interface Block {
  language: string;
  code: string;
}

async function blocksOf(page: string): Promise<Block[]> {
  const text = await readFile(join(root, 'docs', 'tutorials', page), 'utf8');
  return [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(([, language = '', code = '']) => ({ language, code }));
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

let folder: string;
let database: Awaited<ReturnType<typeof startTestDatabase>>;
const started: ChildProcess[] = [];
beforeEach(async () => {
  // The folder is inside the package, so that its name and its dependencies are found from there.
  folder = await mkdtemp(join(root, '.program-tutorial-'));
  database = await startTestDatabase();
});
afterEach(async () => {
  for (const child of started.splice(0)) {
    const ended = once(child, 'exit');
    if (child.exitCode === null && child.kill('SIGKILL')) await ended;
  }
  await database?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('the code and commands of the tutorial add the plugin to an existing server', async () => {
  const blocks = await blocksOf('existing-server.md');
  const port = await freePort();
  const adapted = (code: string) => code.replaceAll('8080', String(port));
  for (const { code } of blocks.filter(({ language }) => language === 'js'))
    await writeFile(join(folder, /^\/\/ ([\w.]+)/.exec(code)![1]!), adapted(code));
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }));
  await writeFile(join(folder, 'slide.svs'), await pyramid());
  const server = spawn(process.execPath, ['--import', 'tsx', 'main.js'], {
    cwd: folder,
    env: { ...process.env, MONGODB_URI: database.uri },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  started.push(server);
  await until('the server of the tutorial listens', () => fetch(`http://127.0.0.1:${port}/`), 300_000);

  let item = '';
  const answers: string[] = [];
  for (const { code } of blocks.filter(({ language, code: text }) => language === 'sh' && text.includes('curl'))) {
    const script = adapted(code).replace(/^ITEM=.*$/m, `ITEM=${item}`);
    const { stdout } = await run('sh', ['-ec', `ITEM=${item}\n${script.replaceAll('curl ', 'curl -sSf ')}`], { cwd: folder });
    answers.push(stdout);
    item ||= (JSON.parse(stdout) as { item: string }).item;
  }
  const [uploaded, described, , annotated] = answers.map((text) => (text === '' ? null : (JSON.parse(text) as object)));
  const shown = blocks.filter(({ language }) => language === 'json').map(({ code }) => JSON.parse(code) as object);
  expect([uploaded, described].map((answer) => Object.keys(answer!))).toEqual([
    Object.keys(shown[0]!),
    expect.arrayContaining(['levels', 'sizeX', 'tileWidth', 'dtype', 'bandCount']),
  ]);
  expect(annotated).toMatchObject({ itemId: item, annotation: { name: 'Tumor' } });
  for (const name of ['tile.jpg', 'thumbnail.jpg', 'region.png'])
    expect((await stat(join(folder, name))).size).toBeGreaterThan(500);
});

it('the commands of the tutorial serve, share and annotate a folder of slides', async () => {
  await mkdir(join(folder, 'slides'));
  await writeFile(join(folder, 'slides', 'slide.svs'), await pyramid());
  const server = startServer([join(folder, 'slides')], {
    MONGODB_URI: database.uri,
    DATA_DIR: join(folder, 'data'),
    ADMIN_PASSWORD: 'a password of the test',
  });
  started.push(server.process);
  const address = await server.url();
  await until('the slide is registered', () => /served in place/.test(server.output()));
  const blocks = (await blocksOf('shared-folder.md')).filter(({ code }) => !code.startsWith('npm '));
  // One shell runs all commands; values that the tutorial copies from responses come from the real ones.
  const script = blocks
    .filter(({ language }) => language === 'sh')
    .map(({ code }) =>
      code
        .replace(/^API=.*$/m, `API=${address}/api/v1`)
        .replace(/^PASSWORD=.*$/m, "PASSWORD='a password of the test'")
        .replace(/^ITEM=.*$/m, `ITEM=$(node -p "JSON.parse(fs.readFileSync('last.json')).item[0]._id")`)
        .replace(/^FOLDER=.*$/m, `FOLDER=$(node -p "JSON.parse(fs.readFileSync('last.json')).item[0].folderId")`)
        .replace(/^USER=.*$/m, `USER=$(node -p "JSON.parse(fs.readFileSync('last.json'))._id")`)
        .replaceAll(/^curl -s (?=-H "\$AUTH" -G|-X POST -H "\$AUTH" \$API\/user )((?:.*\\\n)*.*)$/gm, 'curl -sSf $1 > last.json'),
    );
  const { stdout } = await run('bash', ['-euc', script.join('\n')], { cwd: folder });
  expect(stdout.trim().endsWith('403')).toBe(true);
  expect(stdout).toContain('"name":"Tumor"');
  for (const name of ['thumbnail.jpg', 'region.png']) expect((await stat(join(folder, name))).size).toBeGreaterThan(500);
});
