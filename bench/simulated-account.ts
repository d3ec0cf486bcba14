// What a profile costs the simulated NetSuite account: its first start, the first start of the whole demo,
// and 1,000-row pages of the queries that an account without a profile answers as well, with the columns that
// it has. The accounts are next to each other on one PostgreSQL and take turns. Usage: npm run bench:account
// -- [rounds, default 7]
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type NetsuiteAccount, type NetsuiteAccountOptions, startNetsuiteAccount } from 'netsuite-simulator';
import { shippedData } from '../demo/shipped-data.ts';
import type { Authorizer } from '../src/connectors/netsuite/auth.ts';
import type { ColumnDefinition, RecordTypeDefinition } from '../src/connectors/netsuite/definition.ts';
import { linesQuery, recordsQuery } from '../src/connectors/netsuite/queries.ts';
import { recordTypeDefinitions } from '../src/connectors/netsuite/record-types.ts';
import { createTbaAuthorizer } from '../src/connectors/netsuite/tba.ts';
import { invoiceDefinition } from '../src/connectors/netsuite/transaction-types.ts';
import { systemClock } from '../src/core/clock.ts';
import { describeMachine, type Line, lineOf, median, writeTable } from './table.ts';
import { withDatabase, withWorkspace } from './workspace.ts';

const accountId = 'TSTDRV1234567';
const pageSize = 1_000;
const names = ['none', 'single', 'oneworld'] as const;
type Name = (typeof names)[number];
type ByName<T> = Readonly<Record<Name, T>>;

/** In an order that begins with another profile each round. */
const inTurn = (round: number): Name[] =>
  names.map((_, index) => names[(index + round) % names.length] ?? 'none');

const byName = <T>(create: (name: Name) => T): ByName<T> => ({
  none: create('none'),
  single: create('single'),
  oneworld: create('oneworld'),
});

async function elapsedMs(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

type Admin = NetsuiteAccountOptions['admin'];
const startAccount = (admin: Admin, name: Name, database: string): Promise<NetsuiteAccount> =>
  startNetsuiteAccount({
    admin,
    database,
    dataFolder: shippedData,
    accountId,
    ...(name !== 'none' && { profile: name }),
  });

async function timeFirstStarts(admin: Admin, rounds: number): Promise<ByName<number[]>> {
  const times = byName((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const name of inTurn(round)) {
      let account: NetsuiteAccount | undefined;
      times[name].push(
        await elapsedMs(async () => {
          account = await startAccount(admin, name, `start_${name}_${round}`);
        }),
      );
      await account?.stop();
    }
  return times;
}

const script = fileURLToPath(new URL('../scripts/run.mjs', import.meta.url));

/** Resolves once the demo has said that the service is ready; rejects when it ends before. */
async function demoIsReady(demo: ChildProcess): Promise<void> {
  let output = '';
  const ready = new Promise<void>((resolve) => {
    demo.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('The console is at')) resolve();
    });
  });
  await Promise.race([
    ready,
    once(demo, 'exit').then(() => Promise.reject(new Error(`The demo ended early:\n${output}`))),
  ]);
}

async function timeDemoStarts(folder: string, rounds: number): Promise<ByName<number[]>> {
  const times = byName((): number[] => []);
  for (let round = 0; round < rounds; round += 1)
    for (const name of inTurn(round)) {
      const dataDir = path.join(folder, `demo-${name}-${round}`);
      const environment = {
        PATH: process.env['PATH'],
        HOME: folder,
        PORT: '0',
        DATA_DIR: dataDir,
        ERP_PROFILE: name,
      };
      const demo = spawn(process.execPath, [...process.execArgv, script, 'demo'], {
        cwd: folder,
        env: environment,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      times[name].push(await elapsedMs(() => demoIsReady(demo)));
      const ended = once(demo, 'exit');
      demo.kill('SIGTERM');
      await ended;
      await rm(dataDir, { recursive: true, force: true });
    }
  return times;
}

type Row = Readonly<Record<string, string>>;
type Query = (text: string) => Promise<Row[]>;

function createQuery({ url }: NetsuiteAccount, authorizer: Authorizer): Query {
  const { signal } = new AbortController();
  const address = `${url}/services/rest/query/v1/suiteql?limit=${pageSize}&offset=0`;
  return async (text) => {
    const authorization = await authorizer.authorize({ method: 'POST', url: address, signal });
    const response = await fetch(address, {
      method: 'POST',
      headers: { authorization, prefer: 'transient', 'content-type': 'application/json' },
      body: JSON.stringify({ q: text }),
    });
    const body = (await response.json()) as { items?: Row[] };
    if (body.items === undefined) throw new Error(`${response.status} ${JSON.stringify(body)}: ${text}`);
    return body.items;
  };
}

/** Columns that any account has: `subsidiary` belongs to a feature that is off without a profile. */
const commonColumns = (columns: readonly ColumnDefinition[]): ColumnDefinition[] =>
  columns.filter(
    ({ excluded, derived, name }) => excluded === null && derived === undefined && name !== 'subsidiary',
  );

/**
 * The columns that have values in these rows, which are of the account without a profile: nulls are left out
 * of an answer.
 */
const columnsWithValues = (columns: readonly ColumnDefinition[], rows: readonly Row[]): ColumnDefinition[] =>
  columns.filter(({ name }) => rows.some((row) => row[name] !== undefined));

const itemDefinition = recordTypeDefinitions.find(({ name }) => name === 'item') ?? invoiceDefinition;
const transactionColumns = [
  ...[
    'id',
    'tranid',
    'type',
    'trandate',
    'entity',
    'currency',
    'exchangerate',
    'posting',
    'foreigntotal',
    'status',
    'duedate',
  ],
  ...['foreignamountpaid', 'foreignamountunpaid', 'closedate', 'createddate', 'lastmodifieddate'],
].join(', ');
const lineColumns =
  'uniquekey, id, transaction, linesequencenumber, item, memo, quantity, rate, netamount, mainline, taxline, linelastmodifieddate';

/**
 * A list that is read page by page: the query of the page after the row with key `after`, and the column with
 * that key.
 */
type Listing = {
  readonly name: string;
  readonly key: string;
  readonly pages: number;
  page(after: string): string;
};
const plainListings: readonly Listing[] = [
  {
    name: 'transactions, plain columns',
    key: 'id',
    pages: 2,
    page: (after) => `SELECT ${transactionColumns} FROM transaction WHERE id > ${after} ORDER BY id ASC`,
  },
  {
    name: 'all lines by key',
    key: 'uniquekey',
    pages: 8,
    page: (after) =>
      `SELECT ${lineColumns} FROM transactionline WHERE uniquekey > ${after} ORDER BY uniquekey ASC`,
  },
];

async function createConnectorListing(
  query: Query,
  name: string,
  definition: RecordTypeDefinition,
): Promise<Listing> {
  const all = commonColumns(definition.columns);
  const columns = columnsWithValues(all, await query(recordsQuery(definition, all, {})));
  return {
    name,
    key: 'id',
    pages: 2,
    page: (after) => recordsQuery(definition, columns, { afterId: after }),
  };
}

/** Milliseconds per page. Throws an Error when a page has fewer rows than asked for. */
async function timeListing(query: Query, { name, key, pages, page }: Listing): Promise<number> {
  let after = '0';
  const ms = await elapsedMs(async () => {
    for (let number = 0; number < pages; number += 1) {
      const rows = await query(page(after));
      if (rows.length < pageSize) throw new Error(`Page ${number + 1} of ${name} has ${rows.length} rows`);
      after = rows.at(-1)?.[key] ?? after;
    }
  });
  return ms / pages;
}

/** Milliseconds for the item lines of 40 invoices at a time, as the connector reads them. */
async function timeItemLines(query: Query, texts: readonly string[]): Promise<number> {
  const ms = await elapsedMs(async () => {
    for (const text of texts) await query(text);
  });
  return ms / texts.length;
}

async function createItemLineQueries(query: Query): Promise<string[]> {
  const { lines } = invoiceDefinition;
  if (lines === null) throw new Error('Invoices have lines');
  const ids = (await query("SELECT id FROM transaction WHERE type = 'CustInvc' ORDER BY id ASC")).map(
    ({ id = '' }) => id,
  );
  const chunks = Array.from({ length: 8 }, (_, index) => ids.slice(index * 40, (index + 1) * 40));
  const text = (columns: readonly ColumnDefinition[], parents: readonly string[]): string =>
    linesQuery(invoiceDefinition, lines, columns, { parents, after: null, withModified: true });
  const all = commonColumns(lines.columns);
  const columns = columnsWithValues(all, await query(text(all, chunks[0] ?? [])));
  return chunks.map((parents) => text(columns, parents));
}

async function timePages(queries: ByName<Query>, rounds: number): Promise<Map<string, ByName<number[]>>> {
  const listings = [
    ...plainListings,
    await createConnectorListing(queries.none, 'invoices as the connector reads them', invoiceDefinition),
    await createConnectorListing(queries.none, 'items as the connector reads them', itemDefinition),
  ];
  const texts = await createItemLineQueries(queries.none);
  const workloads = [
    ...listings.map((listing) => ({
      name: listing.name,
      run: (query: Query) => timeListing(query, listing),
    })),
    {
      name: 'lines of 40 invoices as the connector reads them',
      run: (query: Query) => timeItemLines(query, texts),
    },
  ];
  const times = new Map(workloads.map(({ name }) => [name, byName((): number[] => [])]));
  // The first round only warms up caches and plans.
  for (let round = -1; round < rounds; round += 1)
    for (const { name, run } of workloads)
      for (const profile of inTurn(round + 1)) {
        const ms = await run(queries[profile]);
        if (round >= 0) times.get(name)?.[profile].push(ms);
      }
  return times;
}

/** Round by round, so that a slow moment of the machine counts for both. */
const ratios = (times: ByName<number[]>, name: Name): number[] =>
  times[name].map((ms, round) => ms / (times.none[round] ?? Number.NaN));

function reportStarts(what: string, times: ByName<number[]>, goal: number | null): Line[] {
  const bound = goal === null ? null : { target: goal, floor: goal, lowerIsBetter: true };
  return [
    ...(['single', 'oneworld'] as const).map((name) =>
      lineOf(
        `${what}, ${name} / without a profile`,
        ratios(times, name),
        '',
        2,
        name === 'single' ? bound : null,
      ),
    ),
    ...names.map((name) =>
      lineOf(
        `${what}, ${name}`,
        times[name].map((ms) => ms / 1_000),
        ' s',
        2,
      ),
    ),
  ];
}

const reportPages = (times: Map<string, ByName<number[]>>): Line[] =>
  [...times].flatMap(([what, ms]) => [
    ...(['single', 'oneworld'] as const).map((name) =>
      lineOf(`${what}, ${name} / without a profile`, ratios(ms, name), '', 2, {
        target: 1.5,
        floor: 1.5,
        lowerIsBetter: true,
      }),
    ),
    ...names.map((name) => lineOf(`${what}, ${name}`, ms[name], ' ms', 1)),
  ]);

async function openQueries(admin: Admin): Promise<{ queries: ByName<Query>; stop(): Promise<void> }> {
  const accounts: NetsuiteAccount[] = [];
  const open = async (name: Name): Promise<Query> => {
    const account = await startAccount(admin, name, `pages_${name}`);
    accounts.push(account);
    return createQuery(
      account,
      createTbaAuthorizer(systemClock, accountId, await account.createTokenCredentials('bench')),
    );
  };
  const queries = {
    none: await open('none'),
    single: await open('single'),
    oneworld: await open('oneworld'),
  };
  return {
    queries,
    stop: async () => {
      for (const account of accounts) await account.stop();
    },
  };
}

const [given = '7'] = process.argv.slice(2);
const rounds = Number(given);
if (!/^[1-9]\d?$/.test(given)) {
  console.error('Usage: npm run bench:account -- [rounds, default 7]');
  process.exit(2);
}
await withWorkspace((folder) =>
  withDatabase(path.join(folder, 'accounts'), {}, async ({ ctx, admin, adminAddress }) => {
    const server = { ...adminAddress };
    const starts = await timeFirstStarts(server, rounds);
    const { queries, stop } = await openQueries(server);
    const pages = await timePages(queries, rounds);
    await stop();
    const demos = await timeDemoStarts(folder, Math.ceil(rounds / 2));
    const extra = starts.single.map((ms, round) => (ms - (starts.none[round] ?? 0)) / 1_000);
    console.log(`The profile single adds ${median(extra).toFixed(2)} s to the account's first start.`);
    const day = ctx.clock.now().toISOString().slice(0, 10);
    return writeTable('bench:account', `Run of ${day}, ${rounds} rounds.\n${await describeMachine(admin)}`, [
      ...reportStarts('first start of the demo', demos, 1.2),
      ...reportStarts("the account's own first start", starts, null),
      ...reportPages(pages),
    ]);
  }),
);
