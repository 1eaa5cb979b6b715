/**
 * Converts an image of 30,000 x 30,000 pixels to a pyramid of JPEG tiles, and compares this with the `vips` program with the same options.
 * The image is first a JPEG file, then a TIFF file that has all levels as JPEG tiles, which are copied. The two programs take turns, and the
 * medians are compared. Memory is the largest resident size of any process of the conversion.
 */
import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import sharp from 'sharp';
import type { convertFile as Convert } from '../src/tilesource/convert/convert-file.js';
import { checkConversion, type ConversionRequest } from '../src/tilesource/convert/options.js';
import { createTemporaryDirectory } from '../src/core/temporary-files.js';
import { buildProgram } from '../test/support/run/built-program.js';

const side = Number(process.env.BENCH_SIDE ?? 30_000);
const rounds = Number(process.env.BENCH_ROUNDS ?? 3);
const patchSide = 1000;
// The built program is measured, because a process that has to compile TypeScript first starts a second later.
const builtProgram = await buildProgram('src/tilesource/convert/convert-file');
const { convertFile } = (await import(builtProgram.path)) as { convertFile: typeof Convert };
const workDirectory = await mkdtemp(join(tmpdir(), 'bench-convert-'));
const picture = join(workDirectory, 'input.jpg');
const pyramid = join(workDirectory, 'input.tif');
const pyramidWords = ['--tile', '--tile-width', '256', '--tile-height', '256', '--pyramid', '--bigtiff'];
const jpegWords = ['--compression', 'jpeg', '--Q', '90'];

/** Largest resident size, in bytes, of the processes below this one; Linux only. */
function residentBelow(parent: number): number {
  let maxBytes = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const status = readFileSync(`/proc/${name}/status`, 'utf8');
      if (Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]) !== parent) continue;
      const peakBytes = Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
      maxBytes = Math.max(maxBytes, peakBytes, residentBelow(Number(name)));
    } catch {
      // The process has ended.
    }
  }
  return maxBytes;
}

async function convertHere(input: string, request: ConversionRequest): Promise<{ seconds: number; resident: number }> {
  const directory = await createTemporaryDirectory(workDirectory);
  let resident = 0;
  const timer = setInterval(() => (resident = Math.max(resident, residentBelow(process.pid))), 200);
  const start = performance.now();
  try {
    const options = checkConversion({ ...request, concurrent: availableParallelism() });
    await convertFile({ path: input, name: basename(input), mimeType: '' }, directory.path, { options });
    return { seconds: (performance.now() - start) / 1000, resident };
  } finally {
    clearInterval(timer);
    await directory.remove();
  }
}

async function convertWithVips(input: string, words: readonly string[]): Promise<number> {
  const output = join(workDirectory, 'reference.tif');
  const start = performance.now();
  const child = spawn('vips', ['tiffsave', input, output, ...pyramidWords, ...words], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve, reject) => child.once('error', reject).once('close', resolve));
  if (code !== 0) throw new Error(`vips ended with ${code}`);
  const seconds = (performance.now() - start) / 1000;
  await rm(output);
  return seconds;
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;

try {
  const patch = Buffer.alloc(patchSide * patchSide * 3);
  for (let y = 0, at = 0; y < patchSide; y++) {
    for (let x = 0; x < patchSide; x++) {
      const grain = Math.random() * 24;
      patch[at++] = 200 + 20 * Math.sin(x / 30) + grain;
      patch[at++] = 130 + 60 * Math.sin(x / 11) * Math.cos(y / 17) + grain;
      patch[at++] = 180 + 40 * Math.cos(y / 23) + grain;
    }
  }
  const patchPath = join(workDirectory, 'patch.png');
  await sharp(patch, { raw: { width: patchSide, height: patchSide, channels: 3 } })
    .png()
    .toFile(patchPath);
  const repetitions = String(Math.ceil(side / patchSide));
  await promisify(execFile)('vips', ['replicate', patchPath, `${picture}[Q=90]`, repetitions, repetitions]);
  await promisify(execFile)('vips', ['tiffsave', picture, pyramid, ...pyramidWords, ...jpegWords]);

  const cases = [
    { name: 'JPEG, quality 90', input: picture, request: { compression: 'jpeg', quality: 90 }, words: jpegWords, target: 1.15 },
    { name: 'JPEG tiles of a pyramid, copied', input: pyramid, request: {}, words: jpegWords, target: 0.33 },
    ...(process.argv.includes('--all')
      ? ([
          {
            name: 'LZW, nearest',
            input: picture,
            request: { compression: 'lzw', reduction: 'nearest' },
            words: ['--compression', 'lzw', '--predictor', 'horizontal', '--region-shrink', 'nearest'],
            target: 1.15,
          },
        ] as const)
      : []),
  ] as const;
  for (const { name, input, request, words, target } of cases) {
    const ownResults: { seconds: number; resident: number }[] = [];
    const vipsSeconds: number[] = [];
    for (let round = 1; round <= rounds; round++) {
      vipsSeconds.push(await convertWithVips(input, words));
      ownResults.push(await convertHere(input, request));
      console.log(
        `${name}, round ${round}: ${ownResults.at(-1)!.seconds.toFixed(1)} s, vips tiffsave ${vipsSeconds.at(-1)!.toFixed(1)} s`,
      );
    }
    const ratio = median(ownResults.map(({ seconds }) => seconds)) / median(vipsSeconds);
    const resident = Math.max(...ownResults.map((each) => each.resident)) / 2 ** 20;
    console.log(
      `${name}, ${side} x ${side}: ${ratio.toFixed(2)} × vips tiffsave (target: ${target}), peak RSS ${resident.toFixed(0)} MiB`,
    );
  }
} finally {
  await rm(workDirectory, { recursive: true, force: true });
  await builtProgram.remove();
}
