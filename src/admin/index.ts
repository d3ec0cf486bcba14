// The commands of `npm run admin` and how they are executed: arguments are checked before anything is opened,
// the database must have this version's migrations, and everything that was opened is closed again.
import type { Config } from '../config.ts';
import { AppError, errorMessage } from '../core/errors.ts';
import { createLog } from '../core/log.ts';
import { type Lifecycle, Stopped } from '../core/work/lifecycle.ts';
import { openKnex } from '../db/connect.ts';
import { tryExclusiveLock } from '../db/exclusive-lock.ts';
import { UnusableDatabase } from '../db/unusable-database.ts';
import { closeDatabase, openDatabase } from '../open-database.ts';
import { openCtx } from '../service.ts';
import { listPlacementCommand } from './citus/list-placement.ts';
import { moveOrganizationCommand } from './citus/move-organization.ts';
import { prepareCitusCommand } from './citus/prepare-citus.ts';
import { rebalanceCommand } from './citus/rebalance.ts';
import {
  type Admin,
  BadArguments,
  type Command,
  formatHelp,
  type Outcome,
  parseCommandArguments,
  RefusedCommand,
} from './command.ts';
import { createOrganizationCommand } from './create-organization.ts';
import { finishRestoreCommand } from './finish-restore.ts';
import { issueKeyCommand } from './issue-key.ts';
import { listRunsCommand } from './list-runs.ts';
import { moveToCitusCommand } from './move-to-citus.ts';
import { organizationsCommand } from './organizations.ts';
import { releaseRunCommand } from './release-run.ts';
import { rotateEncryptionKeyCommand } from './rotate-encryption-key.ts';
import { signInLinkCommand } from './sign-in-link.ts';
import { listUnknownMailsCommand, sendUnknownMailsCommand } from './unknown-mails.ts';
import { verifyRestoreCommand } from './verify-restore.ts';

export const commands: readonly Command[] = [
  createOrganizationCommand,
  organizationsCommand,
  issueKeyCommand,
  signInLinkCommand,
  rotateEncryptionKeyCommand,
  listRunsCommand,
  releaseRunCommand,
  listUnknownMailsCommand,
  sendUnknownMailsCommand,
  finishRestoreCommand,
  verifyRestoreCommand,
  prepareCitusCommand,
  listPlacementCommand,
  moveOrganizationCommand,
  rebalanceCommand,
  moveToCitusCommand,
];

/** 0: done. 1: rejected or failed. 2: invalid arguments. 3: done, but something remains for the operator. */
type ExitCode = 0 | 1 | 2 | 3;

const contents = `Commands for operators; they work whether or not the service is running:

${commands.map(({ name, summary }) => `  ${name.padEnd(Math.max(...commands.map((command) => command.name.length)))}  ${summary}`).join('\n')}

npm run admin -- <command> --help
Exit codes: 0 done, 1 rejected or failed, 2 invalid arguments, 3 done but something remains to do.`;

const progress = (line: string): void => console.error(line);

/** Rejects with RefusedCommand without DATABASE_URL: the embedded PostgreSQL is one server. */
async function runOnServers(
  { DATABASE_URL: url, MIGRATION_DATABASE_URL: owner, WAREHOUSE_FROM_URL: former }: Config,
  command: Extract<Command, { database: 'none' }>,
  input: unknown,
) {
  if (url === undefined)
    throw new RefusedCommand(`${command.name} needs DATABASE_URL, the address of the coordinator.`);
  return command.run(
    { owner: owner ?? url, service: owner === undefined ? undefined : url, former, progress },
    input,
  );
}

/**
 * Opens what a command needs, with few connections: the service needs the others. Rejects with RefusedCommand
 * while another command with the flag `alone` runs, with UnusableDatabase for an unusable one.
 */
async function openAdmin(
  config: Config,
  life: Lifecycle,
  command: Exclude<Command, { database: 'none' }>,
): Promise<Admin> {
  const opened = await life.open(() => openDatabase(config, progress, command.database), closeDatabase);
  if (command.exclusive) {
    const release = await life.open(
      () => tryExclusiveLock(opened.control, 'portal-service admin'),
      async (unlock) => unlock?.(),
    );
    if (release === undefined)
      throw new RefusedCommand('Another command that must run alone is in progress. Wait for it to end.');
  }
  const { ctx } = await life.open(
    () =>
      openCtx(
        { ...config, CONTROL_POOL_SIZE: 2, DATA_POOL_SIZE: 2 },
        { ...opened, replicas: [] },
        createLog('warn'),
      ),
    (open) => open.close(),
  );
  const owner = await life.open(
    async () => openKnex(opened.owner, 'portal_owner', 2),
    (knex) => knex.destroy(),
  );
  return { ctx, owner, progress };
}

/** Error text for the operator. */
function describeError(error: unknown): string {
  if (error instanceof AppError) return error.details[0]?.message ?? error.message;
  const expected = error instanceof RefusedCommand || error instanceof UnusableDatabase;
  return expected ? error.message : `The command failed: ${errorMessage(error)}`;
}

async function execute(
  config: Config,
  life: Lifecycle,
  command: Command,
  args: readonly string[],
): Promise<ExitCode> {
  const { input, json } = parseCommandArguments(command, args);
  let outcome: Outcome;
  try {
    outcome =
      command.database === 'none'
        ? await runOnServers(config, command, input)
        : await command.run(await openAdmin(config, life, command), input);
  } finally {
    await life.stop();
  }
  console.log(json ? JSON.stringify(outcome.json, null, 2) : outcome.text);
  return outcome.incomplete === true ? 3 : 0;
}

/** Runs a command; reports errors on standard error. Rejects with Stopped when a signal ends the process. */
export async function runAdmin(config: Config, life: Lifecycle, args: readonly string[]): Promise<ExitCode> {
  const [name, ...rest] = args;
  const command = commands.find((candidate) => candidate.name === name);
  if (name === '--help' || name === 'help') {
    console.log(contents);
    return 0;
  }
  if (command === undefined) {
    console.error(name === undefined ? contents : `Unknown command: ${name}\n\n${contents}`);
    return 2;
  }
  if (rest.includes('--help')) {
    console.log(formatHelp(command));
    return 0;
  }
  try {
    return await execute(config, life, command, rest);
  } catch (error) {
    if (error instanceof Stopped) throw error;
    console.error(
      error instanceof BadArguments
        ? `${error.message}\n\nFor the arguments see npm run admin -- ${command.name} --help`
        : describeError(error),
    );
    return error instanceof BadArguments ? 2 : 1;
  }
}
