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
      Exits with 1 when something was left out.
  portal config plan [--file ${defaultFile}] [--organization <name>]
      Says what "apply" would change. Exits with 0 for nothing, 1 for changes, 2 for errors.
  portal config apply [--file ${defaultFile}] [--organization <name>] [--publish]
      Makes the organization what the file says. Deletes nothing, and publishes only with --publish.
      Refuses a key of another organization than that of the name.`;

function readCommand([command = '', ...args]: readonly string[]) {
  if (!['export', 'plan', 'apply'].includes(command))
    throw new UsageError(`portal config must be followed by export, plan or apply.`);
  const file = { type: 'string', default: defaultFile } as const;
  const organization = { type: 'string' } as const;
  const given = { command, publish: false, organization: undefined };
  if (command === 'export') return { ...given, ...parseArgs({ args, options: { file } }).values };
  if (command === 'plan') return { ...given, ...parseArgs({ args, options: { file, organization } }).values };
  const publish = { type: 'boolean', default: false } as const;
  return { ...given, ...parseArgs({ args, options: { file, organization, publish } }).values };
}

/**
 * The exit status: 1 when a plan has changes, or an export lacks something. Rejects with UsageError, ApiError or ConnectionError; before
 * anything is written, unless the message says so.
 */
export async function runConfig(
  given: readonly string[],
  readSettings: () => ClientOptions,
  print: Print,
): Promise<number> {
  const { command, file, publish, organization: name } = readCommand(given);
  const document = command === 'export' ? undefined : await readDocument(file);
  const organization = await openOrganization(openConnection(readSettings(), print));
  if (name !== undefined && name !== organization.name)
    throw new UsageError(
      `The key is of ${JSON.stringify(organization.name)}, not of ${JSON.stringify(name)}.`,
    );
  if (document === undefined) return (await exportConfig(organization, file, print)) ? 0 : 1;
  const plan = await makePlan(organization, readWanted(file, document, organization.description));
  if (command === 'apply') {
    await applyPlan(organization, plan, { isPublishing: publish, print });
    return 0;
  }
  for (const line of describePlan(organization.name, plan)) print(line);
  return plan.changes.some(({ action }) => action !== 'unchanged') ? 1 : 0;
}
