/** Every step in the sources is in docs/operations.md, and a test kills a process there; and vice versa. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { annotationUploads, annotationWrites, finalWrites } from '../../support/kills/annotation-writes.js';
import { commentWrites } from '../../support/kills/comment-writes.js';
import { hostWrites } from '../../support/kills/host-writes.js';
import { dicomWrites } from '../../support/kills/dicom-writes.js';
import { bucketSteps } from '../../support/kills/bucket-writes.js';
import { configurationFileSteps, conversionWrites, imageWrites, productWrites } from '../../support/kills/image-writes.js';
import { stepsOfProcesses } from '../../support/kills/kill-together.js';

const root = join(import.meta.dirname, '..', '..', '..');

const matches = (name: string, step: string) => new RegExp(`^${name.replace('*', '[a-z-]+')}$`).test(step);

/** Names of steps; `*` stands for parts that are only known at run time. */
async function named(): Promise<string[]> {
  const names = new Set<string>();
  for (const path of await readdir(join(root, 'src'), { recursive: true })) {
    if (!path.endsWith('.ts')) continue;
    const text = await readFile(join(root, 'src', path), 'utf8');
    for (const [, name] of text.matchAll(/(?<![.\w])announceStep\(['`]([^'`:]+:[^'`]+)['`]\)/g))
      names.add(name!.replaceAll(/\$\{[^}]*\}/g, '*'));
  }
  const patterns = [...names].filter((name) => name.includes('*'));
  return [...names].filter((name) => !patterns.some((pattern) => pattern !== name && matches(pattern, name))).toSorted();
}

async function documented(): Promise<string[]> {
  const text = await readFile(join(root, 'docs', 'operations.md'), 'utf8');
  const part = text.slice(text.indexOf('## kill -9'), text.indexOf('## Limits of requests'));
  const names = [...part.matchAll(/`((?:[a-z-]+|<what>[a-z-]*):[a-z-]+)`/g)].map(([, name]) => name!.replaceAll('<what>', '*'));
  return [...new Set(names)].filter((name) => name !== 'express-large-image:step').toSorted();
}

const killed = new Set(
  [
    annotationWrites,
    commentWrites,
    finalWrites,
    annotationUploads,
    hostWrites,
    conversionWrites,
    imageWrites,
    productWrites,
    dicomWrites,
  ]
    .flatMap((writes) => Object.values(writes).flatMap(({ steps }) => steps))
    .concat(configurationFileSteps, stepsOfProcesses, bucketSteps)
    .map((step) => step.replace(/#\d+$/, '')),
);

it('the steps of killed writes are the same in the sources and the documentation', async () => {
  expect(await documented()).toEqual(await named());
});

it('tests kill at every step, and at no others', async () => {
  const names = await named();
  expect(names.filter((name) => ![...killed].some((step) => matches(name, step)))).toEqual([]);
  expect([...killed].filter((step) => !names.some((name) => matches(name, step)))).toEqual([]);
});
