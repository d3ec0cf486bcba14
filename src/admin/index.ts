// The table of contents of `npm run admin`, and how a command is run: its arguments are read before anything is opened, the database is
// one of this version, and what it opened is closed.
import type { Config } from '../config.ts';
import { AppError, causeOf } from '../core/errors.ts';
import { type Lifecycle, Stopped } from '../core/lifecycle.ts';
import { openLog } from '../core/log.ts';
import { openKnex, UnfitDatabase } from '../db/connect.ts';
import { holdExclusive } from '../db/exclusive.ts';
import { assertMigrated, migrate } from '../db/migrate.ts';
import { closeDatabase, openCtx, openDatabase } from '../service.ts';
import { type Admin, BadArguments, type Command, helpOf, type Outcome, RefusedCommand, readGiven } from './command.ts';
import { createOrganization } from './create-organization.ts';
import { finishRestore } from './finish-restore.ts';
import { issueKey } from './issue-key.ts';
import { listRuns } from './list-runs.ts';
import { organizations } from './organizations.ts';
import { releaseRunCommand } from './release-run.ts';
import { rotateEncryptionKey } from './rotate-encryption-key.ts';
import { verifyRestore } from './verify-restore.ts';

export const commands: readonly Command[] = [
  createOrganization,
  organizations,
  issueKey,
  rotateEncryptionKey,
  listRuns,
  releaseRunCommand,
  finishRestore,
  verifyRestore,
];

/** 0: done. 1: refused or failed. 2: the arguments are not the command's. 3: done, and something is left for a person. */
type ExitCode = 0 | 1 | 2 | 3;

const contents = `Commands of an operator, beside a running service or without one:

${commands.map(({ name, summary }) => `  ${name.padEnd(Math.max(...commands.map((command) => command.name.length)))}  ${summary}`).join('\n')}

npm run admin -- <command> --help
Exit codes: 0 done, 1 refused or failed, 2 wrong arguments, 3 done and something is left to do.`;

/** Opens what a command needs, with few connections: the service has the others. */
async function openAdmin(config: Config, life: Lifecycle, command: Command): Promise<Admin> {
  const say = (line: string): void => console.error(line);
  const prepare = command.database === 'migrate' ? migrate : assertMigrated;
  const opened = await life.open(() => openDatabase(config, say, prepare), closeDatabase);
  if (command.alone) {
    const held = await life.open(
      () => holdExclusive(opened.control, 'portal-service admin'),
      async (release) => release?.(),
    );
    if (held === undefined) throw new RefusedCommand('Another command of this kind is running; wait for it to end');
  }
  const { ctx } = await life.open(
    () => openCtx({ ...config, CONTROL_POOL_SIZE: 2, DATA_POOL_SIZE: 2 }, opened, openLog('warn')),
    (open) => open.close(),
  );
  const owner = await life.open(
    async () => openKnex(opened.control, 'portal_owner', 2),
    (knex) => knex.destroy(),
  );
  return { ctx, owner, say };
}

function wordsOf(error: unknown): string {
  if (error instanceof AppError) return error.details[0]?.message ?? error.message;
  const expected = error instanceof RefusedCommand || error instanceof UnfitDatabase;
  return expected ? error.message : `The command failed: ${causeOf(error)}`;
}

async function carryOut(config: Config, life: Lifecycle, command: Command, args: readonly string[]): Promise<ExitCode> {
  const { given, json } = readGiven(command, args);
  let outcome: Outcome;
  try {
    outcome = await command.run(await openAdmin(config, life, command), given);
  } finally {
    await life.stop();
  }
  console.log(json ? JSON.stringify(outcome.json, null, 2) : outcome.text);
  return outcome.left === true ? 3 : 0;
}

/** Runs one command; says what went wrong on standard error, and never throws but for a stop. */
export async function runAdmin(config: Config, life: Lifecycle, args: readonly string[]): Promise<ExitCode> {
  const [name, ...rest] = args;
  const command = commands.find((candidate) => candidate.name === name);
  if (name === '--help' || name === 'help') {
    console.log(contents);
    return 0;
  }
  if (command === undefined) {
    console.error(name === undefined ? contents : `There is no command ${name}.\n\n${contents}`);
    return 2;
  }
  if (rest.includes('--help')) {
    console.log(helpOf(command));
    return 0;
  }
  try {
    return await carryOut(config, life, command, rest);
  } catch (error) {
    if (error instanceof Stopped) throw error;
    console.error(
      error instanceof BadArguments ? `${error.message}\n\nnpm run admin -- ${command.name} --help says what it takes.` : wordsOf(error),
    );
    return error instanceof BadArguments ? 2 : 1;
  }
}
