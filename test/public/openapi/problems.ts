// What tools that read OpenAPI find wrong with a description.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';

/** The errors of the schema of OpenAPI. */
export const schemaErrors = async (described: string) =>
  (await new Validator().validate(JSON.parse(described))).errors ?? [];

type Linted = { readonly totals: unknown; readonly problems: readonly { ruleId: string }[] };

/** What Redocly's linter reports, also when it exits with a failure because it found something. */
export async function lint(described: string, rules: object = { extends: ['recommended'] }): Promise<Linted> {
  const folder = await mkdtemp(path.join(tmpdir(), 'description-'));
  try {
    await writeFile(path.join(folder, 'described.json'), described);
    await writeFile(path.join(folder, 'redocly.yaml'), JSON.stringify(rules));
    const cli = path.resolve('node_modules/@redocly/cli/bin/cli.js');
    const args = [cli, 'lint', '--config=redocly.yaml', '--format=json', 'described.json'];
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const options = { cwd: folder, env, maxBuffer: 64 << 20, timeout: 300_000 };
    const text = await promisify(execFile)(process.execPath, args, options).then(
      ({ stdout }) => stdout,
      (error: { stdout?: string }) => error.stdout ?? String(error),
    );
    return JSON.parse(text);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** The numbers of errors and warnings of Redocly's recommended rules. */
export const lintTotals = async (described: string): Promise<unknown> => (await lint(described)).totals;
