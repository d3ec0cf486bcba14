// 0069 adds record:read to roles and transferred keys that could read records, and leaves the others as they
// are.
import type { Knex } from 'knex';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { migrate } from '../../src/db/migrate.ts';
import { findApiKey } from '../../src/identity/api-key.store.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeMember, makeOrganization } from '../setup/organization.ts';

let database: TestDatabase;
let admin: Knex;
beforeAll(async () => {
  database = await testDatabase();
  admin = openKnex(database.address, null, 1);
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

/** The database as the version before left it, as far as the migration changes it. */
async function goBack(): Promise<void> {
  await admin.raw(`
    alter table api_keys drop column scope_rows, drop column scope_fields, drop column scope_unmasked;
    drop table mask_secrets, token_signing_keys, token_revocations;
    alter table conversation_messages drop column unmasked;
    alter table api_key_usage drop column subject;
    alter table api_key_usage add primary key (organization_id, api_key_id, day, version, resource)`);
  await admin('knex_migrations').where('name', 'like', '0069_%').delete();
  await admin('function_release').update({ release: 5 });
}

it('gives record:read to custom roles and ceilings with view:read or conversation:create only', async () => {
  const { id: organizationId } = await makeOrganization(database.ctx);
  const held = [
    { before: ['view:read'], after: ['view:read', 'record:read'] },
    {
      before: ['team:read', 'conversation:create'],
      after: ['team:read', 'conversation:create', 'record:read'],
    },
    {
      before: ['view:create', 'conversation:read', 'api-key:create'],
      after: ['view:create', 'conversation:read', 'api-key:create'],
    },
    { before: [], after: [] },
  ];
  const keys: { id: string; secret: string; memberId: string; after: string[] }[] = [];
  for (const { before, after } of held) {
    const { id: memberId } = await makeMember(database.ctx, organizationId, before);
    const key = await makeKey(database.ctx, organizationId, { createdBy: memberId });
    await admin('api_keys').where({ id: key.id }).update({ ceiling: before, previous_ceiling: before });
    keys.push({ ...key, memberId, after });
  }
  const used = {
    organization_id: organizationId,
    api_key_id: keys[0]?.id,
    day: '2026-03-02',
    version: 'v1',
    resource: 'x',
    succeeded: 7,
  };
  await admin('api_key_usage').insert(used);
  const builtIn = () => admin('roles').where({ built_in: true }).orderBy('id').select('id', 'permissions');
  const untouched = await builtIn();
  await goBack();
  await migrate(database.address);

  for (const { id, memberId, after } of keys) {
    const role = await admin('memberships as m')
      .join('roles as r', 'r.id', 'm.role_id')
      .where('m.user_id', memberId)
      .first('r.permissions');
    const key = await admin('api_keys').where({ id }).first('ceiling', 'previous_ceiling');
    expect([role.permissions, key.ceiling, key.previous_ceiling]).toEqual([after, after, after]);
  }
  expect(await builtIn()).toEqual(untouched);
  const found = await findApiKey(database.ctx, keys[0]?.secret ?? '');
  expect(found?.access).toEqual({
    layers: [{ versions: [], resources: [], rows: null, fields: null }],
    unmasked: false,
  });
  expect(await admin('api_key_usage').first('subject', 'succeeded')).toEqual({ subject: '', succeeded: '7' });
});

it('shows a key with row or field scopes to processes of the version before as one that reads no resource', async () => {
  const { id: organizationId } = await makeOrganization(database.ctx);
  const rows = { resources: { invoices: { recordType: 'invoice', conditions: [] } }, others: false };
  const scopes = [
    { resources: ['invoices'], rows },
    { fields: { invoices: ['number'] } },
    { resources: ['invoices'] },
    {},
  ];
  const shown: unknown[] = [];
  for (const one of scopes) {
    const { id } = await makeKey(database.ctx, organizationId, one);
    const { rows: found } = await admin.raw<{ rows: object[] }>(
      'select f.scope_resources from api_keys k, find_api_key(k.secret_hash) f where k.id = ?',
      [id],
    );
    shown.push(found);
  }
  expect(shown).toEqual([[''], [''], ['invoices'], []].map((resources) => [{ scope_resources: resources }]));
});
