// The two logins of docs/operations.md, on a PostgreSQL of their own: from an empty server to a synced and
// served record.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedDatabase, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { openScratchFolder } from '../setup/scratch-folder.ts';
import { asSuperuser } from '../setup/superuser.ts';
import { type LogLine, runCommand, type ServingProcess, startServer } from './server-process.ts';
import { openPublished, useErpSite } from './site.ts';

const passwords = { 'migration password': 'for-migrations', 'service password': 'for-the-service' } as const;

const site = useErpSite();

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
  let scratch: Awaited<ReturnType<typeof openScratchFolder>>;
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
  const place = (login: ReturnType<typeof at> = service()) => ({
    url: databaseUrl(login),
    folder: scratch.folder,
  });

  beforeAll(async () => {
    scratch = await openScratchFolder('portal-logins-');
    server = await startEmbedded(path.join(scratch.folder, 'postgres'));
    await asSuperuser(server.connection, async (superuser) => {
      for (const statement of (await documentedSql())[block] ?? []) await superuser.query(statement);
    });
    const owner = databaseUrl(at('portal_migration', passwords['migration password']));
    environment = { ...site.environment, MIGRATION_DATABASE_URL: owner };
  });
  afterAll(async () => {
    await serving?.kill();
    await server.stop();
    await scratch.remove();
  });

  it('migrates an empty database as its owner, and syncs and serves as the plain login, without a warning', async () => {
    serving = await startServer(place(), environment);
    const { company, version } = await openPublished(service(), serving.url, site);
    const listed = await company.read(serving.url, `/${version}/invoice?pageSize=1`);
    expect([listed.status, listed.body.data]).toEqual([200, [expect.anything()]]);
    await company.close();
    expect(await serving.stop()).toBe(0);
    expect(serving.lines().filter(isWarning)).toEqual([]);
  });

  it('runs operators’ commands as the owner, beside the service', async () => {
    const { code, stdout } = await runCommand(place(), ['admin', 'organizations', '--json'], environment);
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.anything()]);
  });

  if (block !== 0) return;

  it('warns when a superuser or the owner serves', async () => {
    for (const [user, password, powers] of [
      ['postgres', server.connection.password, ['superuser']],
      ['portal_migration', passwords['migration password'], ['owns the database']],
    ] as const) {
      const running = await startServer(place(at(user, password)), site.environment);
      const warning = await running.line(isWarning);
      expect(warning).toMatchObject({ level: 40, login: user, powers: expect.arrayContaining([...powers]) });
      expect(warning.msg).toContain('docs/operations.md#database-logins');
      await running.stop();
    }
  });

  it('refuses the wrong password, and says what is missing when the plain login is to migrate', async () => {
    const guess = place({ ...service(), password: 'guess' });
    expect(await runCommand(guess, ['serve'], environment)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        'PostgreSQL at DATABASE_URL rejected the login: password authentication failed',
      ),
    });
    const { MIGRATION_DATABASE_URL: _owner, ...alone } = environment;
    // As on a database of the version before.
    await asSuperuser({ ...server.connection, database: 'portal' }, (superuser) =>
      superuser.query('delete from knex_migrations where id = (select max(id) from knex_migrations)'),
    );
    expect(await runCommand(place(), ['serve'], alone)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/DATABASE_URL lacks a privilege[\s\S]*set MIGRATION_DATABASE_URL/),
    });
  });
});
