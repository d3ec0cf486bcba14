// Every pooled connection has the role and the settings of the service or is refused, also behind a pooler
// that drops start-up options.
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { openDb, openKnex, openOperatorPool } from '../../src/db/connect.ts';
import { startupOptions } from '../../src/db/session.ts';
import { type OptionDroppingProxy, startOptionDroppingProxy } from '../setup/option-dropping-proxy.ts';
import { makeOrganization } from '../setup/organization.ts';
import { useDatabase } from '../setup/use-database.ts';

const database = useDatabase();
let proxy: OptionDroppingProxy;
/** A login like that of the service, but without defaults. */
const bare = { user: `bare_${createId().replaceAll('-', '')}`, password: 'only-for-this-test' };

beforeAll(async () => {
  await makeOrganization(database.ctx);
  proxy = await startOptionDroppingProxy(inject('pg'));
  await database.admin.raw(
    `create role ${bare.user} login noinherit password '${bare.password}'; grant portal_service to ${bare.user}`,
  );
});
afterAll(async () => {
  proxy.close();
  await database.admin.raw(`drop role ${bare.user}`);
});

/**
 * What each pool of the service sees through the proxy: the number of organizations, or why it has no
 * connection.
 */
async function seenBy(address: typeof database.address): Promise<unknown[]> {
  const reached = { ...address, host: proxy.host, port: proxy.port };
  const db = openDb(reached, reached, { control: 1, data: 1, lookups: 1, exports: 1 }, 5_000);
  const operators = openOperatorPool(reached);
  const sql = 'select count(*)::int as seen from organizations';
  try {
    return await Promise.all(
      [
        db.control.raw(sql),
        db.lookups.raw(sql),
        db.data.query(sql),
        db.exports.query(sql),
        operators.query(sql),
      ].map((work) =>
        Promise.resolve(work).then(
          ({ rows }) => rows[0].seen,
          (error: Error) => `${error.name}: ${error.message}`,
        ),
      ),
    );
  } finally {
    await Promise.all([db.close(), operators.end()]);
  }
}

describe('behind a pooler that drops start-up options', () => {
  it('no pool works with the rights of the login', async () => {
    const refused = await seenBy(database.address);
    expect(new Set(refused)).toEqual(
      new Set([expect.stringMatching(/^UnusableDatabase: .*role is postgres instead of portal_service/)]),
    );
  });

  it('a plain login without defaults is refused, with what is missing', async () => {
    const [refused] = await seenBy({ ...database.address, ...bare });
    for (const missing of [
      `role is ${bare.user} instead of portal_service`,
      'search_path is "$user", public instead of public',
      'intervalstyle is postgres instead of iso_8601',
    ])
      expect(refused).toContain(missing);
  });

  it('the login of the service has its role and settings as defaults, so all pools work', async () => {
    expect(await seenBy(database.service)).toEqual([0, 0, 0, 0, 0]);
  });
});

describe('a connection', () => {
  it('is refused when the server overrides a setting', async () => {
    const options = startupOptions('portal_service').replace('timezone=UTC', 'timezone=Europe/Berlin');
    const knex = openKnex(database.service, 'portal_service', 1, { options });
    await expect(Promise.resolve(knex.raw('select'))).rejects.toThrow(
      'timezone is Europe/Berlin instead of UTC',
    );
    await knex.destroy();
  });

  it('is refused when its statement timeout was dropped', async () => {
    const dropping = await startOptionDroppingProxy(inject('pg'), ['statement_timeout']);
    const address = { ...database.service, host: dropping.host, port: dropping.port };
    const db = openDb(address, address, { control: 1, data: 1 }, 5_000);
    await expect(db.data.query('select')).rejects.toThrow('statement_timeout is 0 instead of 5000');
    expect((await db.control.raw('select 1 as one')).rows).toEqual([{ one: 1 }]);
    await db.close();
    dropping.close();
  });
});
