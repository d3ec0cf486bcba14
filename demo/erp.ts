// `npm run erp`: the simulated NetSuite account alone, on ports that stay the same. Its database is in a
// PostgreSQL of its own, so that it can run next to the service and to the demo.
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  type NetsuiteAccount,
  type NetsuiteAccountOptions,
  parseProfile,
  startNetsuiteAccount,
} from 'netsuite-simulator';
import type { Lifecycle } from '../src/core/work/lifecycle.ts';
import { startEmbedded } from '../src/db/embedded/embedded.ts';
import { writePrivateJson } from './private-file.ts';
import { createProgressDisplay, type ProgressDisplay } from './progress.ts';
import { accountId, shippedData } from './shipped-data.ts';

export const erpUsage = `Usage: npm run erp -- [options]
  --port <port>                  of the account; default 8090, 0 for any free one
  --control-port <port>          of the control interface; default 8091, 0 for any free one
  --data <folder>                the account's records; default: the demo's
  --profile <name>               single (default), oneworld, or none for the records of the folder alone; ERP_PROFILE is the default
  --account-id <id>              default ${accountId}
  --replay-from <YYYY-MM-DD>     hold back what changed on or after this day, and enter it day by day
  --minutes-per-day <minutes>    default 1
  --database <postgres://...>    a superuser of another PostgreSQL server; default: one of its own in DATA_DIR/erp`;

const options = {
  port: { type: 'string', default: '8090' },
  'control-port': { type: 'string', default: '8091' },
  data: { type: 'string', default: shippedData },
  profile: { type: 'string' },
  'account-id': { type: 'string', default: accountId },
  'replay-from': { type: 'string' },
  'minutes-per-day': { type: 'string', default: '1' },
  database: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;
type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

/** Throws RangeError for an address that names no server, user and database. */
function parseServer(address: string): NetsuiteAccountOptions['admin'] {
  const { protocol, hostname, port, username, password, pathname } = URL.parse(address) ?? {};
  const [user, database] = [decodeURIComponent(username ?? ''), decodeURIComponent(pathname?.slice(1) ?? '')];
  if (!/^postgres(ql)?:$/.test(protocol ?? '') || hostname === undefined || user === '' || database === '')
    throw new RangeError(
      '--database must be an address such as postgres://postgres:secret@127.0.0.1:5432/postgres.',
    );
  return {
    host: hostname,
    port: Number(port || 5432),
    user,
    database,
    ...(password && { password: decodeURIComponent(password) }),
  };
}

/** Throws RangeError unless it is a whole number up to 65535. */
function parsePort(name: string, text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new RangeError(`--${name} must be a port, not ${text}.`);
  return port;
}

/** Throws RangeError unless all values are valid. */
function parseOptions(
  values: Values,
  profileByDefault: string,
  onProgress: (step: string, done: number, total: number) => void,
): Omit<NetsuiteAccountOptions, 'admin'> {
  const name = values.profile ?? profileByDefault;
  const profile = parseProfile(name === 'none' ? undefined : name);
  return {
    database: 'netsuite_account',
    dataFolder: values.data,
    ...(profile !== undefined && { profile }),
    accountId: values['account-id'],
    port: parsePort('port', values.port),
    control: { port: parsePort('control-port', values['control-port']) },
    ...(values['replay-from'] !== undefined && { replayFrom: values['replay-from'] }),
    onDay: (day, { daysLeft }) => console.log(`Entered ${day}; ${daysLeft} days left.`),
    onProgress,
  };
}

/**
 * Starts the account, writes `erp.json` and prints where everything is; or prints the usage. `profile` is
 * used unless `args` name another; `life` closes what was opened. Throws TypeError for unknown options,
 * RangeError for invalid values, and what `startNetsuiteAccount` throws.
 */
export async function startErp(
  args: string[],
  { dataDir, profile }: { readonly dataDir: string; readonly profile: string },
  life: Lifecycle,
): Promise<void> {
  const { values } = parseArgs({ args, options });
  if (values.help) {
    console.log(erpUsage);
    return;
  }
  const progress = createProgressDisplay(process.stdout);
  const accountOptions = parseOptions(values, profile, (_step, done, total) =>
    progress.showPart(done, total),
  );
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    const admin =
      values.database === undefined
        ? await openServer(path.join(dataDir, 'erp'), life, progress)
        : parseServer(values.database);
    progress.startStep('Loading the records');
    const account = await life.open(
      () => startNetsuiteAccount({ ...accountOptions, admin }),
      (running) => running.stop(),
    );
    if (values['replay-from'] !== undefined)
      account.startReplay({ minutesPerDay: Number(values['minutes-per-day']) });
    progress.end();
    const file = path.join(dataDir, 'erp.json');
    await writePrivateJson(file, {
      accountId: account.accountId,
      netsuiteUrl: account.url,
      erpControl: account.control,
    });
    console.log(welcomeText(account, file));
  } finally {
    progress.end();
  }
}

async function openServer(
  folder: string,
  life: Lifecycle,
  progress: ProgressDisplay,
): Promise<NetsuiteAccountOptions['admin']> {
  progress.startStep('Starting PostgreSQL');
  const { connection } = await life.open(
    () => startEmbedded(folder),
    (server) => server.stop(),
  );
  return connection;
}

function welcomeText({ accountId: id, url, control }: NetsuiteAccount, file: string): string {
  return `
The simulated NetSuite account ${id} is at ${url}

  set-up pages      ${control?.url}/set-up#token=${control?.token}
  control page      ${control?.url}/#token=${control?.token}
  all of this       ${file}

Stop with Ctrl-C.
`;
}
