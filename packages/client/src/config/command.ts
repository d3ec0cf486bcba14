// `portal config`: its arguments and exit statuses.
import { parseArgs } from 'node:util';
import { UsageError } from '../cli/settings.ts';
import type { ClientOptions } from '../transport.ts';
import { applyPlan } from './apply.ts';
import { openConnection, type Print } from './connection.ts';
import { exportConfig } from './export.ts';
import { defaultFile, readDocument, readWanted } from './file.ts';
import { openOrganization } from './organization.ts';
import { makePlan } from './plan.ts';
import { describePlan } from './print.ts';

export const configUsage = `  portal config export [--file ${defaultFile}]
      Writes the set-up of the organization to a file, without secrets.
  portal config plan [--file ${defaultFile}]
      Says what "apply" would change. Exits with 0 for nothing, 1 for changes, 2 for errors.
  portal config apply [--file ${defaultFile}] [--publish]
      Makes the organization what the file says. Deletes nothing, and publishes only with --publish.`;

function readCommand([command = '', ...args]: readonly string[]) {
  if (!['export', 'plan', 'apply'].includes(command))
    throw new UsageError(`portal config must be followed by export, plan or apply.`);
  const file = { type: 'string', default: defaultFile } as const;
  if (command !== 'apply')
    return { command, publish: false, ...parseArgs({ args, options: { file } }).values };
  const publish = { type: 'boolean', default: false } as const;
  return { command, ...parseArgs({ args, options: { file, publish } }).values };
}

/**
 * The exit status: 1 when a plan has changes. Rejects with UsageError, ApiError or ConnectionError; before
 * anything is written, unless the message says so.
 */
export async function runConfig(
  given: readonly string[],
  readSettings: () => ClientOptions,
  print: Print,
): Promise<number> {
  const { command, file, publish } = readCommand(given);
  const document = command === 'export' ? undefined : await readDocument(file);
  const organization = await openOrganization(openConnection(readSettings(), print));
  if (document === undefined) {
    await exportConfig(organization, file, print);
    return 0;
  }
  const plan = await makePlan(organization, readWanted(file, document, organization.description));
  if (command === 'apply') {
    await applyPlan(organization, plan, { isPublishing: publish, print });
    return 0;
  }
  for (const line of describePlan(organization.name, plan)) print(line);
  return plan.changes.some(({ action }) => action !== 'unchanged') ? 1 : 0;
}
