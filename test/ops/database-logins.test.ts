// The two logins of docs/operations.md, on a PostgreSQL of their own: from an empty server to a synced and
// served record.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { startCleanupWatcher } from '../setup/cleanup-watcher.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { type LogLine, type ServingProcess, startProcess, startServer } from './server-process.ts';
import { connectCompany, type ErpSite, makeCompany, openErpSite, publish, sync } from './site.ts';

const passwords = { 'migration password': 'for-migrations', 'service password': 'for-the-service' } as const;

let site: ErpSite;
beforeAll(async () => {
  site = await openErpSite();
});
afterAll(() => site.close());

/** The statements of the page's section about logins: with and without the right to create roles. */
async function documentedSql(): Promise<string[][]> {
  const page = await readFile('docs/operations.md', 'utf8');
  const section = page.slice(page.indexOf('## Database logins'), page.indexOf('### Connection poolers'));
  return [...section.matchAll(/```sql\n([^`]+)```/g)].map(([, block = '']) =>
    block
      .replaceAll(/<([a-z ]+)>/g, (_, name: keyof typeof passwords) => passwords[name])
      .split(/;\n/)
      .filter((statement) => statement.trim() !== ''),
  );
}

const isWarning = ({ powers }: LogLine): boolean => powers !== undefined;

describe.each([
  ['an owner that may create roles', 0],
  ['roles that were created before', 1],
])('with %s', (_name, block) => {
  let folder: string;
  let tidied: () => void;
  let server: EmbeddedDatabase;
  let environment: Record<string, string>;
  let serving: ServingProcess | undefined;
  const at = (user: string, password: string) => ({
    ...server.connection,
    user,
    password,
    database: 'portal',
  });
  const service = () => at('portal_login', passwords['service password']);

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'portal-logins-'));
    tidied = startCleanupWatcher(folder);
    server = await startEmbedded(path.join(folder, 'postgres'));
    const superuser = new Client(server.connection);
    await superuser.connect();
    for (const statement of (await documentedSql())[block] ?? []) await superuser.query(statement);
    await superuser.end();
    const owner = databaseUrl(at('portal_migration', passwords['migration password']));
    environment = { ...site.environment, MIGRATION_DATABASE_URL: owner };
  });
  afterAll(async () => {
    serving?.child.kill('SIGKILL');
    await serving?.ended;
    await server.stop();
    await rm(folder, { recursive: true, force: true });
    tidied();
  });

  it('migrates an empty database as its owner, and syncs and serves as the plain login, without a warning', async () => {
    serving = await startServer({ url: databaseUrl(service()), folder }, environment);
    const company = await makeCompany(service());
    const configs = await connectCompany(company, serving.url, site);
    for (const id of configs.values())
      expect(await sync(company, serving.url, id)).toMatchObject({ status: 'succeeded' });
    const version = await publish(company, serving.url);
    const listed = await company.read(serving.url, `/${version}/invoice?pageSize=1`);
    expect([listed.status, listed.body.data]).toEqual([200, [expect.anything()]]);
    await company.close();
    serving.child.kill('SIGTERM');
    expect(await serving.ended).toBe(0);
    expect(serving.lines().filter(isWarning)).toEqual([]);
  });

  it('runs operators’ commands as the owner, beside the service', async () => {
    const command = startProcess(
      { url: databaseUrl(service()), folder },
      ['admin', 'organizations', '--json'],
      environment,
    );
    expect([await command.ended, JSON.parse(command.output().stdout)]).toEqual([0, expect.anything()]);
  });

  if (block !== 0) return;

  it('says what is missing when the plain login is to migrate', async () => {
    const { MIGRATION_DATABASE_URL: _owner, ...alone } = environment;
    const command = startProcess({ url: databaseUrl(service()), folder }, ['serve'], alone);
    expect(await command.ended).toBe(1);
    expect(command.output().stderr).toMatch(
      /DATABASE_URL lacks a privilege[\s\S]*set MIGRATION_DATABASE_URL/,
    );
  });

  it('refuses the wrong password', async () => {
    const command = startProcess(
      { url: databaseUrl({ ...service(), password: 'guess' }), folder },
      ['serve'],
      environment,
    );
    expect(await command.ended).toBe(1);
    expect(command.output().stderr).toContain(
      'PostgreSQL at DATABASE_URL rejected the login: password authentication failed',
    );
  });

  it('warns when a superuser or the owner serves', async () => {
    for (const [user, password, powers] of [
      ['postgres', server.connection.password, ['superuser']],
      ['portal_migration', passwords['migration password'], ['owns the database']],
    ] as const) {
      const running = await startServer({ url: databaseUrl(at(user, password)), folder }, site.environment);
      const warning = await running.line(isWarning);
      expect(warning).toMatchObject({ level: 40, login: user, powers: expect.arrayContaining([...powers]) });
      expect(warning.msg).toContain('docs/operations.md#database-logins');
      running.child.kill('SIGTERM');
      await running.ended;
    }
  });
});
