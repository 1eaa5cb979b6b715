#!/usr/bin/env node
/** The program `express-large-image`. */
import { createRequire } from 'node:module';
import { cac, type CAC } from 'cac';
import { LargeImageError } from '../errors.js';
import { conversionPredictors, reductions, writtenCompressions } from '../tilesource/convert/options.js';
import { createRequestedHelp } from '../reference-host/start/options.js';
import { createProgressDisplay } from '../reference-host/start/progress.js';
import { MissingPackagesError, requirePackages } from '../reference-host/packages.js';
import { CommandError } from './usage.js';

const programName = 'express-large-image';
// Importing by the package's own name finds package.json both from the sources and from the built program.
const { version } = createRequire(import.meta.url)(`${programName}/package.json`) as { version: string };

const exitCodes = { done: 0, failed: 1, wrongCommand: 2, interrupted: 130 } as const;
const footer = [
  'Exit codes:',
  `  ${exitCodes.done} done, ${exitCodes.failed} failed or found problems, ${exitCodes.wrongCommand} invalid command line, ` +
    `${exitCodes.interrupted} interrupted`,
].join('\n');

const print = (text: string): void => void process.stdout.write(`${text}\n`);
const printError = (text: string): void => void process.stderr.write(`${programName}: ${text}\n`);

/** The value of an option as cac parses it. */
type OptionValue = string | number | boolean | undefined;

/** Checks that an option is one of `choices`. @throws CommandError */
function parseChoice<const Words extends readonly string[]>(
  value: OptionValue,
  choices: Words,
  option: string,
): Words[number] | undefined {
  if (value === undefined) return undefined;
  const allowedWord = choices.find((each) => each === String(value));
  if (allowedWord === undefined)
    throw new CommandError(`--${option} is ${String(value)}; it must be one of ${choices.join(', ')}.`);
  return allowedWord;
}

/** Checks that an option is a whole number. @throws CommandError */
function parseInteger(value: OptionValue, option: string): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new CommandError(`--${option} is ${String(value)}; it must be a whole number.`);
  return value;
}

async function runConvert(from: string, to: string, options: Record<string, OptionValue>): Promise<number> {
  const { convertTo } = await import('./convert.js');
  const interruption = new AbortController();
  const interrupt = () => interruption.abort(new Error('Interrupted; nothing was written.'));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);
  // The standard output may be a pipe, so progress is shown on the error output.
  const display = createProgressDisplay(process.stderr);
  try {
    const bytes = await convertTo(from, to, {
      request: {
        tileSize: parseInteger(options.tileSize, 'tile-size'),
        compression: parseChoice(options.compression, writtenCompressions, 'compression'),
        quality: parseInteger(options.quality, 'quality'),
        level: parseInteger(options.level, 'level'),
        predictor: parseChoice(options.predictor, conversionPredictors, 'predictor'),
        reduction: parseChoice(options.reduction, reductions, 'reduction'),
        onlyFrame: parseInteger(options.onlyFrame, 'only-frame'),
        concurrent: parseInteger(options.concurrent, 'concurrent'),
      },
      overwrite: options.overwrite === true,
      onProgress: (fraction) => display.showProgress({ text: `Converting ${from}`, fraction }),
      signal: interruption.signal,
    });
    display.endProgress();
    print(`${to}: ${(bytes / 1e6).toFixed(1)} MB`);
    return exitCodes.done;
  } catch (error) {
    display.endProgress();
    if (!interruption.signal.aborted) throw error;
    printError('Interrupted; nothing was written.');
    return exitCodes.interrupted;
  }
}

async function runInfo(file: string, includesInternal: boolean): Promise<number> {
  const { readImageInfo } = await import('./info.js');
  print(JSON.stringify(await readImageInfo(file, { includesInternal }), null, 2));
  return exitCodes.done;
}

async function runCheck(file: string): Promise<number> {
  const { checkConfig } = await import('./check-config.js');
  const problems = await checkConfig(file);
  print(problems.length === 0 ? `${file} is valid.` : problems.join('\n'));
  return problems.length === 0 ? exitCodes.done : exitCodes.failed;
}

/** Starts the reference host, which parses its own command line. */
async function runServe(args: readonly string[]): Promise<void> {
  const command = `npx ${programName} serve`;
  const help = createRequestedHelp(args, version, command);
  if (help !== null) return print(help);
  requirePackages();
  const { serve } = await import('../reference-host/start/serve.js');
  await serve(args, command);
}

function defineCommands(result: { exitCode: Promise<number> | null }): CAC {
  const program = cac(programName);
  const run = (exitCode: Promise<number>): void => {
    result.exitCode = exitCode;
  };
  program.command('serve [...files]', 'Serve images in place, from files and folders (see serve --help)');
  program
    .command('convert <in> <out>', 'Convert an image to a TIFF with a pyramid of tiles')
    .option(
      '--tile-size <pixels>',
      'Side of a tile, a multiple of 16 (default: as in the file if its tiles are copied, otherwise 256)',
    )
    .option('--compression <name>', `${writtenCompressions.join(', ')} (default: depends on the image)`)
    .option('--quality <number>', 'Quality of JPEG and WebP, 0 to 100 (default: 90)')
    .option('--level <number>', 'Compression level of deflate (1 to 9) or zstd (1 to 22)')
    .option('--predictor <name>', 'none or horizontal (default: horizontal)')
    .option('--reduction <name>', `${reductions.join(' or ')} (default: nearest if nothing is lossy)`)
    .option('--only-frame <number>', 'The only frame to convert, from 0 (default: all)')
    .option('--concurrent <number>', 'Threads; 0 or negative: CPU count minus that many (default: all)')
    .option('--overwrite', 'Replace an existing file')
    .action((from: string, to: string, options: Record<string, OptionValue>) => run(runConvert(from, to, options)));
  program
    .command('info <file>', 'Print the metadata of an image as JSON')
    .option('--internal', 'Include all metadata that the file contains')
    .action((file: string, { internal }: { internal?: boolean }) => run(runInfo(file, internal === true)));
  program
    .command('check-config <file>', 'Check a configuration file, or the YAML configuration of a folder')
    .action((file: string) => run(runCheck(file)));
  program.help((sections) => [...sections, { body: footer }]);
  program.version(version);
  return program;
}

async function main(argv: readonly string[]): Promise<number | null> {
  if (argv[0] === 'serve') {
    await runServe(argv.slice(1));
    return null;
  }
  const result: { exitCode: Promise<number> | null } = { exitCode: null };
  const program = defineCommands(result);
  const { options, args } = program.parse(['node', programName, ...argv], { run: false });
  if (options.help === true || options.version === true) return exitCodes.done;
  if (program.matchedCommand === undefined) {
    const problem = args[0] === undefined ? 'No command was given' : `Unknown command ${args[0]}`;
    throw new CommandError(`${problem}. Commands: serve, convert, info, check-config. See ${programName} --help`);
  }
  program.runMatchedCommand();
  return result.exitCode;
}

async function runProgram(): Promise<void> {
  try {
    process.exitCode = (await main(process.argv.slice(2))) ?? undefined;
  } catch (error) {
    // Errors of cac have this name.
    const isWrongCommand = error instanceof CommandError || (error instanceof Error && error.name === 'CACError');
    const needsNoStack = isWrongCommand || error instanceof LargeImageError || error instanceof MissingPackagesError;
    // Errors of the operating system have a code, and their message is enough. Other errors are printed with their stack.
    if (needsNoStack || (error instanceof Error && 'code' in error)) printError(error.message);
    else printError(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = isWrongCommand ? exitCodes.wrongCommand : exitCodes.failed;
  }
}

void runProgram();
