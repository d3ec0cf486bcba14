#!/usr/bin/env node
// The command line: `portal pull`, `portal check` and `portal config`.
import { parseArgs } from 'node:util';
import { configUsage, runConfig } from '../config/command.ts';
import { ApiError, ConnectionError } from '../errors.ts';
import { createTransport } from '../transport.ts';
import { type Language, languages } from './lock.ts';
import { check, pull } from './pull.ts';
import { readSettings, UsageError } from './settings.ts';

const usage = `Usage:
  portal pull [--version v1] [--lang ts|python] [--out src/portal] [--integers text|bigint]
      Writes a typed client of a published version, by default of the newest.
      Whole numbers beyond 2^53 are text, or bigint values.
  portal check
      Exits with 1 when a version is deprecated or retired, or when its description differs.
${configUsage}

Environment: PORTAL_URL, PORTAL_KEY, and PORTAL_TENANT with a record token.`;

const integerForms = ['text', 'bigint'] as const;

function choose<Choice extends string>(name: string, value: string, choices: readonly Choice[]): Choice {
  const found = choices.find((choice) => choice === value);
  if (found === undefined) throw new UsageError(`--${name} must be ${choices.join(' or ')}.`);
  return found;
}

function readPullOptions(args: string[], folder: string) {
  const { values } = parseArgs({
    args,
    options: {
      version: { type: 'string' },
      lang: { type: 'string', default: 'ts' satisfies Language },
      out: { type: 'string', default: 'src/portal' },
      integers: { type: 'string', default: 'text' },
    },
  });
  return {
    ...{ folder, version: values.version, out: values.out },
    lang: choose('lang', values.lang, languages),
    integers: choose('integers', values.integers, integerForms),
  };
}

const isUsageError = (error: unknown): error is Error =>
  error instanceof UsageError ||
  (error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'));

/** The exit status: 1 for a finding, 2 for what could not be done. */
async function run([command, ...args]: readonly string[]): Promise<number> {
  const folder = process.cwd();
  if (command === 'pull') {
    const options = readPullOptions(args, folder);
    await pull(createTransport(readSettings(process.env)), options, console.log);
    return 0;
  }
  if (command === 'check') {
    parseArgs({ args, options: {} });
    return (await check(createTransport(readSettings(process.env)), folder, console.log)) ? 0 : 1;
  }
  if (command === 'config') return runConfig(args, () => readSettings(process.env), console.log);
  console.log(usage);
  return command === undefined || command === 'help' || command === '--help' ? 0 : 2;
}

try {
  process.exitCode = await run(process.argv.slice(2));
} catch (error) {
  if (error instanceof ApiError)
    console.error(`${error.message} (${error.status}, request ${error.requestId ?? 'unknown'})`);
  else if (isUsageError(error) || error instanceof ConnectionError || error instanceof TypeError)
    console.error(error.message);
  else console.error(error);
  process.exitCode = 2;
}
