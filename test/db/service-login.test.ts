// The login of the service gains nothing by leaving its role: whatever statement an attacker could run on a
// serving connection.
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { Pool, PoolClient } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { openDb, openOperatorPool } from '../../src/db/connect.ts';
import { startEmbedded } from '../../src/db/embedded/embedded.ts';
import { ensureServiceLogin, readLoginPowers } from '../../src/db/service-login.ts';
import { closeDatabase, openDatabase } from '../../src/open-database.ts';
import type { TestDatabase } from '../setup/database.ts';
import { createScratchFolder } from '../setup/scratch-folder.ts';
import { useOrganization } from '../setup/use-organization.ts';

const mine = useOrganization();
let client: PoolClient;

beforeAll(async () => {
  const entry = { at: new Date(), credential_kind: 'operator', action: 'x', target_type: 'x' };
  await mine.sql((tx) => tx('audit_log').insert({ organization_id: mine.id, id: createId(), ...entry }));
  client = await mine.ctx.db.data.connect();
});
afterAll(() => client.release(true));

/** What the statement returns, or PostgreSQL's error. */
const attempt = (sql: string): Promise<unknown> =>
  client.query<Record<string, unknown>>(sql).then(
    ({ rows, rowCount }) => (rows.length > 0 ? rows : rowCount),
    (error: Error) => error.message,
  );

describe('a serving connection', () => {
  it.each([
    'set role none',
    'reset role',
    'set session authorization default',
    'reset session authorization',
    'reset all',
    'discard all',
  ])('gains nothing by %s', async (leave) => {
    await client.query(leave);
    await client.query("select set_config('portal.organization_id', $1, false)", [createId()]);
    const denied = expect.stringMatching(/permission denied|must be (owner|able)|only .* may/i);
    for (const [sql, expected] of [
      [`select from organizations where id = '${mine.id}'`, expect.toBeOneOf([0, denied])],
      [`select from audit_log where organization_id = '${mine.id}'`, expect.toBeOneOf([0, denied])],
      [`update organizations set name = 'stolen' where id = '${mine.id}'`, expect.toBeOneOf([0, denied])],
      ['update audit_log set action = null', denied],
      ['delete from audit_log', denied],
      ['alter table api_schemas disable trigger published_is_immutable', denied],
      ['alter table organizations no force row level security', denied],
      ['drop policy own_organization on organizations', denied],
      [
        'create or replace function current_organization() returns uuid language sql as $$ select null::uuid $$',
        denied,
      ],
      ["set session_replication_role = 'replica'", denied],
      ['set role portal_owner', denied],
      ['set role postgres', denied],
      ['set session authorization postgres', denied],
      ['select rolpassword from pg_authid', denied],
      ["select pg_read_file('PG_VERSION')", denied],
      ["copy (select 1) to program 'true'", denied],
      ['create role intruder superuser', denied],
      ['alter role portal_login bypassrls', denied],
    ] as const)
      expect([leave, sql, await attempt(sql)]).toEqual([leave, sql, expected]);
  });

  it('still serves its organization after that', async () => {
    await client.query('set role portal_service');
    await client.query("select set_config('portal.organization_id', $1, false)", [mine.id]);
    expect(await attempt(`select id from organizations where id = '${mine.id}'`)).toEqual([{ id: mine.id }]);
  });
});

it('is the login of every pool on the embedded server, also in a data folder whose server knows another password', async () => {
  const folder = await createScratchFolder('login-');
  const { stop } = await startEmbedded(folder);
  await stop();
  for (const password of [undefined, 'another-one']) {
    if (password !== undefined)
      await writeFile(path.join(folder, 'postgres-18', 'service.password'), password);
    const opened = await openDatabase({ DATA_DIR: folder });
    const db = openDb(opened.control, opened.data, { control: 1, data: 1 }, 5_000);
    const sql = 'select session_user::text as login, current_user::text as role';
    for (const { rows } of [
      await db.control.raw(sql),
      await db.lookups.raw(sql),
      await db.data.query(sql),
      await db.exports.query(sql),
    ])
      expect(rows).toEqual([{ login: 'portal_login', role: 'portal_service' }]);
    await db.close();
    await closeDatabase(opened);
  }
  await rm(folder, { recursive: true, force: true });
});

describe('readLoginPowers', () => {
  const name = `login_${createId().replaceAll('-', '')}`;
  const readPowers = async (address: TestDatabase['address']): Promise<unknown> => {
    const pool: Pool = openOperatorPool(address);
    return readLoginPowers(pool).finally(() => pool.end());
  };

  it('names nothing for the login of the service, and superuser for the tests’ own', async () => {
    expect(await readPowers(mine.database.service)).toEqual({ login: 'portal_login', powers: [] });
    expect(await readPowers(mine.database.address)).toMatchObject({
      login: 'postgres',
      powers: expect.arrayContaining(['superuser']),
    });
  });

  it('names what a login may do in addition to portal_service', async () => {
    const login = { user: name, password: 'only-for-this-test' };
    const address = { ...mine.database.address, ...login };
    await ensureServiceLogin(mine.database.address, login);
    try {
      expect(await readPowers(address)).toEqual({ login: name, powers: [] });
      await mine.admin.raw(
        `alter role ${name} bypassrls createrole; grant portal_owner to ${name}; create table own (id int); alter table own owner to ${name}`,
      );
      expect(await readPowers(address)).toEqual({
        login: name,
        powers: ['BYPASSRLS', 'CREATEROLE', 'owns tables', 'member of portal_owner'],
      });
    } finally {
      await mine.admin.raw(`drop table if exists own; drop role ${name}`);
    }
  });

  it('leaves the password of an existing login alone, and grants it the role that it lacks', async () => {
    const login = { user: `${name}_2`, password: 'first' };
    await mine.admin.raw(`create role ${login.user} login password '${login.password}'`);
    try {
      await ensureServiceLogin(mine.database.address, { ...login, password: 'second' });
      expect(await readPowers({ ...mine.database.address, ...login })).toEqual({
        login: login.user,
        powers: [],
      });
    } finally {
      await mine.admin.raw(`drop role ${login.user}`);
    }
  });
});
