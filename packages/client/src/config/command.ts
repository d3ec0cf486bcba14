// `portal config`: its arguments and exit statuses.
import { parseArgs } from 'node:util';
import { UsageError } from '../cli/settings.ts';
import type { ClientOptions } from '../transport.ts';
import { openConnection, type Print } from './connection.ts';
import { exportConfig } from './export.ts';
import { defaultFile } from './file.ts';
import { openOrganization } from './organization.ts';

export const configUsage = `  portal config export [--file ${defaultFile}]
      Writes the set-up of the organization to a file, without secrets.`;

/** The exit status. Rejects with UsageError, ApiError or ConnectionError. */
export async function runConfig(
  [command, ...args]: readonly string[],
  readSettings: () => ClientOptions,
  print: Print,
): Promise<number> {
  if (command !== 'export') throw new UsageError('portal config must be followed by export.');
  const { values } = parseArgs({ args, options: { file: { type: 'string', default: defaultFile } } });
  await exportConfig(await openOrganization(openConnection(readSettings(), print)), values.file, print);
  return 0;
}
