// A company whose service moves from one PostgreSQL to another while it is read: processes as an operator
// runs them, and a reader who notes every answer. An entity tag names one body for ever, whichever server it
// came from.
import { Client } from 'pg';
import { until } from '../setup/until.ts';
import { type Ran, type ServingProcess, startProcess, startServer } from './server-process.ts';
import {
  type Company,
  type ErpSite,
  makeCompany,
  openErpSite,
  openPublished,
  type Reply,
  sync,
} from './site.ts';

/** A database: its superuser's address, and the folder of the processes that use it. */
export type Place = { readonly url: string; readonly folder: string };

/** Everything that a client can keep: compared byte by byte before and after. */
export type Books = Readonly<Record<string, { readonly tag: string; readonly text: string }>>;

const pages = ['/v1/customer', '/v1/invoice?pageSize=1000', '/v1/invoice?page=3&pageSize=50'];
const exports = ['/v1/customer', '/v1/invoice'];
const questions = [
  ...pages.map((address) => ({ address, accept: 'application/json' })),
  ...exports.flatMap((address) =>
    ['application/x-ndjson', 'text/csv'].map((accept) => ({ address, accept })),
  ),
];

export type Reader = ReturnType<typeof startReading>;

/**
 * Reads lists, exports and changes one after the other until it is stopped; half of the reads name the last
 * tag.
 */
export function startReading({ company }: Pick<Scene, 'company'>, first: ServingProcess) {
  const problems: string[] = [];
  const known = new Map<string, string>();
  const last = new Map<string, string>();
  let [server, reads, isOver] = [first, 0, false];
  const readOnce = async (address: string, accept: string): Promise<void> => {
    const { url } = server;
    const key = `${address} ${accept}`;
    const tag = reads % 2 === 0 ? last.get(key) : undefined;
    const reply = await company
      .read(url, address, { accept, ...(tag !== undefined && { 'if-none-match': tag }) })
      .catch(String);
    reads += 1;
    if (typeof reply === 'string') return void problems.push(`${address}: ${reply}`);
    const shown = reply.headers.get('etag') ?? '';
    if (reply.status === 304 && shown === tag) return;
    if (reply.status !== 200) return void problems.push(`${address}: ${reply.status} ${reply.text}`);
    const before = known.get(`${key} ${shown}`);
    if (before !== undefined && before !== reply.text) problems.push(`${address}: ${shown} names two bodies`);
    known.set(`${key} ${shown}`, reply.text);
    last.set(key, shown);
  };
  const run = async (): Promise<void> => {
    while (!isOver) for (const { address, accept } of questions) if (!isOver) await readOnce(address, accept);
  };
  const running = run();
  return {
    /** What it reads from now on. */
    use: (next: ServingProcess) => {
      server = next;
    },
    reads: () => reads,
    /** Answers other than 200 and 304, connections that failed, and tags with two bodies. */
    problems: problems as readonly string[],
    stop: async () => {
      isOver = true;
      await running;
    },
  };
}

export type Scene = Awaited<ReturnType<typeof openScene>>['scene'];

/**
 * Starts the service at `former`, syncs two organizations and publishes a version of each; then changes and
 * deletions are synced.
 */
export async function openScene(former: Place) {
  const site = await openErpSite();
  const limits = { RATE_LIMIT_PER_MINUTE: '10000', SYNC_LEASE_SECONDS: '5' };
  const running = new Set<ServingProcess>();
  const start = async (place: Place, more: Record<string, string> = {}): Promise<ServingProcess> => {
    const server = await startServer(place, { ...site.environment, ...limits, ...more });
    running.add(server);
    return server;
  };
  const server = await start(former);
  const { company, configs } = await openPublished(former.url, server.url, site);
  const { company: other, configs: otherConfigs } = await openPublished(former.url, server.url, site);
  const third = await makeCompany(former.url);
  await changeInvoices(site, 'before the move');
  await sync(company, server.url, configs.get('invoice'));
  const stop = async (ending: ServingProcess): Promise<void> => {
    await ending.stop();
    running.delete(ending);
  };
  const close = async (): Promise<void> => {
    for (const one of running) await one.kill();
    await Promise.all([company.close(), other.close(), third.close()]);
    await site.close();
  };
  const remove = async (url: string): Promise<void> => {
    const { body } = await third.call(url, 'get', `/organizations/${third.id}`);
    const reply = await third.call(url, 'delete', `/organizations/${third.id}?confirm=${body.slug}`);
    if (reply.status !== 204) throw new Error(`${reply.status} ${reply.text}`);
  };
  const scene = {
    company,
    /** A second organization of the same service, with records of the same account. */
    other,
    site,
    /** Ids of the sync configurations of `company` by record type. */
    configs,
    /** The same of `other`. */
    otherConfigs,
    /** A third organization, which a test deletes while its records are on the former server. */
    deleted: { remove },
    start,
    stop,
    /** Kills what still runs. */
    close,
  };
  return { scene, server };
}

/** A change of some invoices by people in the account. */
export const changeInvoices = (site: ErpSite, memo: string) =>
  site.change(
    `update ledger.transaction set memo = '${memo}', lastmodifieddate = now() where id in (select id from ledger.transaction where type = 'CustInvc' order by id limit 25)`,
  );

/** Every list and export of the organization. */
export async function readBooks(company: Company, { url }: ServingProcess): Promise<Books> {
  const books: Record<string, { tag: string; text: string }> = {};
  for (const { address, accept } of questions) {
    const reply = await company.read(url, address, { accept });
    if (reply.status !== 200) throw new Error(`${address}: ${reply.status} ${reply.text}`);
    books[`${address} ${accept}`] = { tag: reply.headers.get('etag') ?? '', text: reply.text };
  }
  return books;
}

export const changes = (company: Company, { url }: ServingProcess, since: string | null): Promise<Reply> =>
  company.read(url, `/v1/invoice/changes${since === null ? '' : `?since=${since}`}`);

/** The operator's command, from `former` to `target`. With `kill`, it is killed once that resolves. */
export async function moveTo(
  target: Place,
  former: string,
  args: readonly string[] = [],
  kill?: () => Promise<unknown>,
): Promise<Ran> {
  const command = startProcess(target, ['admin', 'move-to-citus', ...args], { WAREHOUSE_FROM_URL: former });
  if (kill !== undefined) {
    await kill();
    command.child.kill('SIGKILL');
  }
  return { code: await command.ended, ...command.output() };
}

export type Blocker = Awaited<ReturnType<typeof block>>;

/**
 * Runs `sql` in a transaction of a superuser that stays open, so that the command waits at a known moment.
 */
export async function block(url: string, sql: string) {
  const [client, observer] = [new Client(url), new Client(url)];
  await Promise.all([client.connect(), observer.connect()]);
  await client.query(`begin; ${sql}`);
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
  return {
    /** Resolves when another session waits for what this one holds. */
    blocked: () =>
      until(async () => {
        const waiting = await observer.query(
          'select from pg_stat_activity where $1 = any(pg_blocking_pids(pid))',
          [rows[0]?.pid],
        );
        return (waiting.rowCount ?? 0) > 0;
      }),
    release: async () => {
      await client.query('rollback');
      await Promise.all([client.end(), observer.end()]);
    },
  };
}
