// What tools that read OpenAPI find wrong with a description.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Validator } from '@seriousme/openapi-schema-validator';

/** The errors of the schema of OpenAPI 3.1. */
export const schemaErrors = async (described: string) =>
  (await new Validator().validate(JSON.parse(described))).errors ?? [];

/** The numbers of errors and warnings of Redocly's recommended rules. */
export async function lintTotals(described: string): Promise<unknown> {
  const folder = await mkdtemp(path.join(tmpdir(), 'description-'));
  try {
    const file = path.join(folder, 'described.json');
    await writeFile(file, described);
    const cli = path.resolve('node_modules/@redocly/cli/bin/cli.js');
    const args = [cli, 'lint', '--extends=recommended', '--format=json', file];
    const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
    const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder, env });
    return JSON.parse(stdout).totals;
  } finally {
    await rm(folder, { recursive: true });
  }
}
