// 0069 adds record:read to roles and transferred keys that could read records, and leaves the others as they
// are.
import { expect, it } from 'vitest';
import { migrate } from '../../src/db/migrate.ts';
import { findApiKey } from '../../src/identity/api-key.store.ts';
import { makeKey, makeMember } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

const site = useOrganization();

/** The database as the version before left it, as far as the migration changes it. */
async function goBack(): Promise<void> {
  await site.admin.raw(`
    alter table api_keys drop column scope_rows, drop column scope_fields, drop column scope_unmasked;
    drop table mask_secrets, token_signing_keys, token_revocations;
    alter table conversation_messages drop column unmasked;
    alter table api_key_usage drop column subject;
    alter table api_key_usage add primary key (organization_id, api_key_id, day, version, resource)`);
  await site.admin('knex_migrations').where('name', 'like', '0069_%').delete();
  await site.admin('function_release').update({ release: 5 });
}

it('gives record:read to custom roles and ceilings with view:read or conversation:create only', async () => {
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
    const { id: memberId } = await makeMember(site.ctx, site.id, before);
    const key = await makeKey(site.ctx, site.id, { createdBy: memberId });
    await site.admin('api_keys').where({ id: key.id }).update({ ceiling: before, previous_ceiling: before });
    keys.push({ ...key, memberId, after });
  }
  const used = {
    organization_id: site.id,
    api_key_id: keys[0]?.id,
    day: '2026-03-02',
    version: 'v1',
    resource: 'x',
    succeeded: 7,
  };
  await site.admin('api_key_usage').insert(used);
  const builtIn = () =>
    site.admin('roles').where({ built_in: true }).orderBy('id').select('id', 'permissions');
  const untouched = await builtIn();
  await goBack();
  await migrate(site.database.address);

  for (const { id, memberId, after } of keys) {
    const role = await site
      .admin('memberships as m')
      .join('roles as r', 'r.id', 'm.role_id')
      .where('m.user_id', memberId)
      .first('r.permissions');
    const key = await site.admin('api_keys').where({ id }).first('ceiling', 'previous_ceiling');
    expect([role.permissions, key.ceiling, key.previous_ceiling]).toEqual([after, after, after]);
  }
  expect(await builtIn()).toEqual(untouched);
  const found = await findApiKey(site.ctx, keys[0]?.secret ?? '');
  expect(found?.access).toEqual({
    layers: [{ versions: [], resources: [], rows: null, fields: null }],
    unmasked: false,
  });
  expect(await site.admin('api_key_usage').first('subject', 'succeeded')).toEqual({
    subject: '',
    succeeded: '7',
  });
});

it('shows a key with row or field scopes to processes of the version before as one that reads no resource', async () => {
  const rows = { resources: { invoices: { recordType: 'invoice', conditions: [] } }, others: false };
  const scopes = [
    { resources: ['invoices'], rows },
    { fields: { invoices: ['number'] } },
    { resources: ['invoices'] },
    {},
  ];
  const shown: unknown[] = [];
  for (const one of scopes) {
    const { id } = await makeKey(site.ctx, site.id, one);
    const { rows: found } = await site.admin.raw<{ rows: object[] }>(
      'select f.scope_resources from api_keys k, find_api_key(k.secret_hash) f where k.id = ?',
      [id],
    );
    shown.push(found);
  }
  expect(shown).toEqual([[''], [''], ['invoices'], []].map((resources) => [{ scope_resources: resources }]));
});
