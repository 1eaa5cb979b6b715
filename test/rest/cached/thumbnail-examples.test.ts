import { existsSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newFolder, pyramid, uploadItem } from '../../support/images/images.js';
import { endedJob } from '../../support/jobs/job-status.js';
import { startHost, type Client, type TestHost } from '../../support/hosts/reference-host.js';

/** A thumbnail job of the established implementation, which had nine images, one of them unusable. */
interface Example {
  name: string;
  body: { json: { status: number; title: string; type: string; handler: string; kwargs: Kwargs; log: string[] } };
}
interface Kwargs {
  spec: unknown[];
  logInterval?: number;
  concurrent?: number;
}

const file = '../shared/spec/examples.jsonl';
const noExamples = existsSync(file) ? null : `${file} is not there`;
// Only one job of each kind, because each waits for its turn in the queue.
const chosenNames = /^thumbnails\.put\.(opt\.\w+|opt\.log1\.5|width_bool|nokey|unicode)\.job$/;
const examples = (noExamples === null ? readFileSync(file, 'utf8').trim().split('\n') : [])
  .map((line) => JSON.parse(line) as Example)
  .filter(({ name }) => chosenNames.test(name));

const itemCount = 2;

/** The expected log of a job on our images. Each specification creates either all thumbnails or none. */
function expectedLog({ kwargs, log }: Example['body']['json']): string[] {
  const created = / created 0 /.test(log.at(-1)!) ? 0 : itemCount * kwargs.spec.length;
  const { concurrent = 0 } = kwargs;
  const places = concurrent < 1 ? cpus().length : Math.floor(concurrent);
  return [
    'Started creating large image thumbnails\n',
    `Creating thumbnails (${places} concurrent)\n`,
    `Finished: Checked 0, created ${created} thumbnail files\n`,
  ];
}

describe.skipIf(noExamples !== null)(`recorded thumbnail jobs${noExamples === null ? '' : ` (skipped: ${noExamples})`}`, () => {
  let started: TestHost;
  let admin: Client;

  beforeAll(async () => {
    started = await startHost({ checksAnswers: true });
    admin = await started.register('admin');
    const folder = await newFolder(admin, 'Images');
    const image = await pyramid();
    for (let i = 0; i < itemCount; i++) await uploadItem(admin, folder, `image ${i}.tif`, image);
  });
  afterAll(() => started?.close());

  it.each(examples.map(({ name, body }) => [name, body.json] as const))('%s', async (_name, recorded) => {
    const { spec, ...options } = recorded.kwargs;
    await admin.ok('DELETE', '/large_image/thumbnails');
    const numbers = Object.fromEntries(Object.entries(options).map(([key, value]) => [key, String(value)]));
    const job = await admin.ok('PUT', '/large_image/thumbnails', { query: { spec: JSON.stringify(spec), ...numbers } });
    const { title, type, handler, kwargs } = recorded;
    expect(job).toMatchObject({ title, type, handler, kwargs });
    const ended = await endedJob(admin, String(job._id));
    expect(ended.status).toBe(recorded.status);
    const [first, second, last] = expectedLog(recorded);
    expect(ended.log.slice(0, 2)).toEqual([first, second]);
    expect(ended.log.at(-1)!.split('\n')[0]).toBe(last!.trimEnd());
    expect(/Failed on 2 thumbnail files/.test(ended.log.at(-1)!)).toBe(/ created 0 /.test(last!));
  });
});
