// The warehouse through PgBouncer in transaction mode: the service gives the same answers as directly, as the
// same role and within the same limits, and refuses what would be silently wrong.
import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { Semaphore } from '../../src/core/work/semaphore.ts';
import { type OpenDb, openDb } from '../../src/db/connect.ts';
import { keepsPrepared } from '../../src/db/routed-client.ts';
import { inDataTransaction } from '../../src/db/transaction.ts';
import { createStatementRunner } from '../../src/public/read/connection/statements.ts';
import { type OpsSite, runCommand, type ServingProcess, useOpsDatabase } from '../ops/server-process.ts';
import {
  type Company,
  connectCompany,
  type ErpSite,
  makeCompany,
  publish,
  sync,
  useErpSite,
} from '../ops/site.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { until } from '../setup/until.ts';
import { type Login, type PgBouncer, pgBouncerVersion, startPgBouncer } from './harness/pgbouncer.ts';

const isInstalled = pgBouncerVersion !== undefined;
const suffix = createId().replaceAll('-', '');
const login = (name: string): Login => ({ user: `${name}_${suffix}`, password: `for-${name}` });
const [pooled, reading, bare, superuser] = [login('pooled'), login('reading'), login('bare'), login('super')];

let site: ErpSite;
let database: OpsSite;
let pgBouncer: PgBouncer;
const through = ({ user, password }: Login, { connection }: PgBouncer = pgBouncer) => ({
  ...connection,
  user,
  password,
});
const urlThrough = (given: Login, bouncer?: PgBouncer) => databaseUrl(through(given, bouncer));

async function asAdmin(statements: readonly string[]): Promise<void> {
  for (const statement of statements) await database.query(statement);
}

/** The statements of docs/operations.md for the login of a pooler. */
async function documentedStatements({ user, password }: Login): Promise<string[]> {
  const page = await readFile('docs/operations.md', 'utf8');
  const [, block = ''] = /### Connection poolers[\s\S]*?```sql\n([^`]+)```/.exec(page) ?? [];
  return block
    .replaceAll('portal_pooled', user)
    .replace('<pooled password>', password)
    .split(/;\n/)
    .filter(Boolean);
}

const start = (environment: Record<string, string>) =>
  database.start({ ...site.environment, ...environment });

async function failedStart(url: string, environment: Record<string, string> = {}): Promise<string> {
  const place = { url, folder: database.folder };
  const { code, stdout, stderr } = await runCommand(place, ['serve'], {
    ...site.environment,
    ...environment,
  });
  expect(code).toBe(1);
  return `${stdout}${stderr}`;
}

describe.skipIf(!isInstalled)(`PgBouncer (${pgBouncerVersion ?? 'not run: it is not installed'})`, () => {
  site = useErpSite();
  database = useOpsDatabase();
  beforeAll(async () => {
    await asAdmin([
      ...(await documentedStatements(pooled)),
      ...(await documentedStatements(reading)),
      `alter role ${reading.user} set lock_timeout = '250'`,
      `create role ${bare.user} login noinherit password '${bare.password}'`,
      `grant portal_service to ${bare.user} with inherit false, set true`,
      ...(await documentedStatements(superuser)),
      `alter role ${superuser.user} superuser`,
    ]);
    pgBouncer = await startPgBouncer(database.address, [pooled, reading, bare, superuser]);
  });
  afterAll(async () => {
    await pgBouncer?.stop();
    await asAdmin([pooled, reading, bare, superuser].map(({ user }) => `drop role if exists ${user}`)).catch(
      () => undefined,
    );
  });

  describe('a process with WAREHOUSE_URL through it', () => {
    let company: Company;
    let serving: ServingProcess;
    let version: string;
    let configs: Map<string, string>;
    const paths = () => [
      `/${version}/invoice?pageSize=50&page=2`,
      `/${version}/invoice?pageSize=5&page=3`,
      `/${version}/customer/1`,
      `/${version}/invoice/changes?limit=500`,
    ];
    const formats = ['application/x-ndjson', 'text/csv'];
    const bodies = async (url: string): Promise<string[]> => {
      const lists = await Promise.all(paths().map((path) => company.read(url, path)));
      const exports = await Promise.all(
        formats.map((accept) => company.read(url, `/${version}/invoice`, { accept })),
      );
      const views = await company.call(url, 'get', '/views');
      expect([...lists, ...exports, views].map(({ status }) => status)).toEqual([
        200, 200, 200, 200, 200, 200, 200,
      ]);
      return [...lists, ...exports].map(({ text }) => text);
    };

    beforeAll(async () => {
      serving = await start({ WAREHOUSE_URL: urlThrough(pooled) });
      company = await makeCompany(database.service);
      configs = await connectCompany(company, serving.url, site);
    });
    afterAll(() => company?.close());

    it('syncs in full and publishes', async () => {
      for (const id of configs.values())
        expect(await sync(company, serving.url, id, { mode: 'full' })).toMatchObject({ status: 'succeeded' });
      version = await publish(company, serving.url);
      for (const id of configs.values())
        expect(await sync(company, serving.url, id)).toMatchObject({ status: 'succeeded' });
    });

    it('answers lists, records, changes and exports as a process without it, also when asked again', async () => {
      const direct = await start({});
      const expected = await bodies(direct.url);
      for (let round = 0; round < 4; round += 1) expect(await bodies(serving.url)).toEqual(expected);
    });

    it('answers the same with READ_URL through it', async () => {
      const replicated = await start({ READ_URL: urlThrough(reading) });
      const expected = await bodies(serving.url);
      for (let round = 0; round < 4; round += 1) expect(await bodies(replicated.url)).toEqual(expected);
      expect(replicated.lines().filter(({ replica }) => replica !== undefined)).toEqual([]);
    });

    it('leaves a replica out whose login has other limits, and says once which statements to run', async () => {
      const replicated = await start({ READ_URL: urlThrough(pooled), READ_TIMEOUT_MS: '9000' });
      const expected = await bodies(serving.url);
      for (let round = 0; round < 4; round += 1) expect(await bodies(replicated.url)).toEqual(expected);
      const messages = replicated
        .lines()
        .flatMap(({ replica, err }) => (replica === undefined ? [] : [(err as Error | undefined)?.message]));
      expect(messages).toEqual([
        expect.stringContaining(
          `SET statement_timeout = '9000'; ALTER ROLE "${pooled.user}" SET lock_timeout = '250';`,
        ),
      ]);
    });

    it('runs a view', async () => {
      const made = await company.call(serving.url, 'post', '/views', {
        name: 'All',
        recordType: 'customer',
        columns: ['entityid'],
      });
      const view =
        made.status === 201 ? await company.call(serving.url, 'get', `/views/${made.body.id}/records`) : made;
      expect(view.status, made.text).toBe(200);
    });

    it('answers through a PgBouncer that keeps no prepared statements', async () => {
      const without = await startPgBouncer(
        database.address,
        [pooled],
        pgBouncer.keepsPrepared ? { max_prepared_statements: '0' } : {},
      );
      const other = await start({ WAREHOUSE_URL: urlThrough(pooled, without) });
      const expected = await bodies(serving.url);
      for (let round = 0; round < 4; round += 1) expect(await bodies(other.url)).toEqual(expected);
      await without.stop();
    });

    it('answers again after PgBouncer was restarted', async () => {
      const [path = ''] = paths();
      await pgBouncer.restart();
      const reply = await until(async () => {
        const answer = await company.read(serving.url, path);
        return answer.status === 503 ? undefined : answer;
      });
      expect(reply.status).toBe(200);
    });

    it.each([
      // Nothing but the role keeps its statements from reading everything.
      ['a superuser', superuser],
      ['a plain login', pooled],
    ])(
      'never answers from a session whose role another client has changed, with %s',
      async (_name, given) => {
        const shared = await startPgBouncer(database.address, [given], { default_pool_size: '2' });
        const other = await start({ WAREHOUSE_URL: urlThrough(given, shared) });
        const [path = ''] = paths();
        expect((await company.read(other.url, path)).status).toBe(200);
        const clients = await Promise.all(
          [1, 2].map(async () => {
            const client = new Client(through(given, shared));
            await client.connect();
            await client.query('begin');
            return client;
          }),
        );
        // Both sessions of the server are theirs now.
        for (const client of clients) await client.query('set role none');
        for (const client of clients) await client.query('commit');
        expect((await company.read(other.url, `/${version}/invoice?pageSize=3`)).status).toBe(503);
        // After a statement that failed, PgBouncer may open another session, which is in order again.
        if (given === superuser) {
          const lists = await Promise.all(
            [1, 2, 3, 4].map((page) =>
              company.read(other.url, `/${version}/invoice?pageSize=3&page=${page}`),
            ),
          );
          expect(lists.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
          expect((await company.read(other.url, `/${version}/customer/1`)).status).toBe(503);
          expect(
            (await company.read(other.url, `/${version}/invoice`, { accept: 'application/x-ndjson' })).status,
          ).toBe(503);
        }
        for (const client of clients) await client.end();
        await shared.command('RECONNECT');
        await until(async () => (await company.read(other.url, path)).status === 200);
        await shared.stop();
      },
    );
  });

  describe('connections through it', () => {
    let db: OpenDb;
    beforeAll(() => {
      db = openDb(database.service, urlThrough(pooled), { control: 2, data: 6, exports: 2 }, 10_000);
    });
    afterAll(() => db?.close());

    it('have the role of the service, and row-level security applies', async () => {
      const sql =
        "select current_user as role, row_security_active('organizations') as secured, (select count(*)::int from organizations) as seen";
      const rows = await Promise.all(
        Array.from({ length: 20 }, () => db.data.query(sql).then((result) => result.rows[0])),
      );
      expect(new Set(rows.map((row) => JSON.stringify(row)))).toEqual(
        new Set([JSON.stringify({ role: 'portal_service', secured: true, seen: 0 })]),
      );
    });

    it('keep statements that were prepared by name, or send them in full, however many there are', async () => {
      const single = openDb(database.service, urlThrough(pooled), { control: 2, data: 2 }, 10_000);
      let connections = 0;
      single.data.on('connect', () => {
        connections += 1;
      });
      const runner = createStatementRunner(single.data, new Semaphore({ maxRunning: 1 }), 1 << 20, 2);
      const statement = (number: number) => ({
        key: `${number}`,
        values: [number],
        write: () => `select $1::int as given, ${number} as written`,
      });
      for (let round = 0; round < 5; round += 1)
        for (let number = 0; number < 6; number += 1)
          expect(await runner.run('one', statement(number))).toEqual([{ given: number, written: number }]);
      const client = await single.data.connect();
      expect(keepsPrepared(client)).toBe(pgBouncer.keepsPrepared);
      client.release();
      expect(connections).toBe(1);
      await single.close();
    });

    it('end a statement on the server at the time limit', async () => {
      await asAdmin([`alter role ${pooled.user} set statement_timeout = '1500'`]);
      await pgBouncer.command('RECONNECT');
      const limited = openDb(database.service, urlThrough(pooled), { control: 2, data: 2 }, 1_500);
      await expect(limited.data.query('select pg_sleep(60)')).rejects.toMatchObject({ code: '57014' });
      await limited.close();
      await asAdmin([`alter role ${pooled.user} set statement_timeout = '10000'`]);
      await pgBouncer.command('RECONNECT');
    });

    it('have a limit of their own in the transactions of a sync, and the role although the session has another', async () => {
      const limits = await Promise.all(
        Array.from({ length: 12 }, () =>
          inDataTransaction(
            db.data,
            async (client) => (await client.query('show statement_timeout')).rows[0].statement_timeout,
          ),
        ),
      );
      expect(new Set(limits)).toEqual(new Set(['15min']));
      const one = await startPgBouncer(database.address, [pooled], { default_pool_size: '1' });
      const client = new Client(through(pooled, one));
      await client.connect();
      const shared = openDb(database.service, urlThrough(pooled, one), { control: 2, data: 2 }, 10_000);
      await shared.data.query('select');
      await client.query('set role none');
      expect((await shared.data.query('select current_user as role')).rows).toEqual([{ role: pooled.user }]);
      const role = await inDataTransaction(
        shared.data,
        async (tx) => (await tx.query('select current_user as role')).rows[0].role,
      );
      expect(role).toBe('portal_service');
      await client.end();
      await shared.close();
      await one.stop();
    });
  });

  describe('start-up', () => {
    it('refuses a login of WAREHOUSE_URL without the defaults, with the statements to run', async () => {
      const output = await failedStart(database.url, { WAREHOUSE_URL: urlThrough(bare) });
      expect(output).toContain('WAREHOUSE_URL: ');
      expect(output).toContain(`role is ${bare.user} instead of portal_service`);
      expect(output).toContain(
        `ALTER ROLE \\"${bare.user}\\" SET role = 'portal_service';`.replaceAll('\\', ''),
      );
      expect(output).toContain("SET statement_timeout = '10000';");
      expect(output).not.toContain(bare.password);
    });

    it('refuses DATABASE_URL through it, and says why', async () => {
      const output = await failedStart(urlThrough(pooled), { MIGRATION_DATABASE_URL: database.url });
      expect(output).toContain('DATABASE_URL leads through a connection pooler that shares sessions');
      expect(output).toContain('docs/operations.md#connection-poolers');
      const owner = await failedStart(urlThrough(superuser));
      expect(owner).toContain('DATABASE_URL leads through a connection pooler that shares sessions');
    });

    it('accepts DATABASE_URL through it in session mode', async () => {
      const sessions = await startPgBouncer(database.address, [pooled], {
        pool_mode: 'session',
        default_pool_size: '40',
        ignore_startup_parameters: 'options',
      });
      const serving = await start({
        DATABASE_URL: urlThrough(pooled, sessions),
        MIGRATION_DATABASE_URL: database.url,
        WAREHOUSE_URL: urlThrough(pooled),
      });
      // On a busy machine the first check may take longer than it waits.
      await until(async () => (await fetch(`${serving.url}/readyz`)).status === 200);
      await serving.stop();
      await sessions.stop();
    });
  });
});
