// Every write leaves one row in the audit log, and no secret is left anywhere: not in a row, not in a log line, not in an answer.
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { newId } from '../../src/core/id.ts';
import { openLog } from '../../src/core/log.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { publicationsSettled } from '../../src/platform/api-schemas/publication.ts';
import { platformRoutes } from '../../src/platform/index.ts';
import { createTenantSchema, tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { type Answer, type Api, apiOf } from '../setup/api.ts';
import { type TestDatabase, testDatabase, testSettings } from '../setup/database.ts';
import { accountId, type Erp, startErp } from '../setup/erp.ts';
import { makeKey, makeMember, makeOrganization } from '../setup/organization.ts';

const lines: string[] = [];
const answers: string[] = [];
let erp: Erp;
let database: TestDatabase;
let app: Express;
let organization: { id: string; slug: string };
let secret: string;
let owner: Api;

beforeAll(async () => {
  erp = await startErp();
  database = await testDatabase({ settings: { erp: { ...testSettings.erp, allowedHosts: [erp.host] } } });
  const log = openLog('trace', { write: (line: string) => void lines.push(line) });
  app = createApp({ ...database.ctx, log });
  organization = await makeOrganization(database.ctx);
  secret = (await makeKey(database.ctx, organization.id, { permissions: ['write'] })).secret;
  owner = apiOf(app, secret);
});
afterAll(async () => {
  await publicationsSettled(database.ctx);
  await database.close();
  await erp.stop();
});

type Row = {
  action: string;
  target_type: string;
  target_id: string | null;
  changes: object;
  actor_id: string;
  request_id: string;
  ip: string;
};
const auditRows = (): Promise<Row[]> =>
  inTransaction({ db: database.ctx.db, organizationId: organization.id }, (tx) => tx('audit_log').orderBy('at').select('*'));

/** The operations that were seen to write, each with what its row says. */
const written = new Map<string, string>();
async function write(routeId: string, ...args: Parameters<Api>): Promise<Answer> {
  const before = await auditRows();
  const answer = await owner(...args);
  expect(answer.status, `${routeId} ${JSON.stringify(answer.body)}`).toBeLessThan(300);
  const after = await auditRows();
  expect([routeId, after.length - before.length]).toEqual([routeId, 1]);
  const row = after.at(-1);
  expect(row).toMatchObject({ request_id: answer.headers['x-request-id'], credential_kind: 'api-key', ip: '127.0.0.1' });
  written.set(routeId, row?.action ?? '');
  answers.push(JSON.stringify({ ...answer.body, secret: undefined }));
  return answer;
}

/** A proposal as a run would leave it. */
async function heldDeletions(): Promise<string> {
  await createTenantSchema(database.ctx, organization.id);
  const id = newId();
  await database.ctx.db.data.query(
    `insert into ${tenantSchema(organization.id)}.deletion_proposals (id, record_type, ids, evidence) values ($1, 'invoice', '{1}', '{}')`,
    [id],
  );
  return id;
}

describe('the audit log', () => {
  const given = { consumerSecret: 'consumer-5ecret-0123456789', tokenSecret: 'token-5ecret-0123456789' };
  let newSecrets: string[] = [];

  it('has one row for each write, whatever the operation', async () => {
    const key = (await write('createApiKey', 'post', '/api-keys', { name: 'Key' })).body;
    await write('updateApiKey', 'patch', `/api-keys/${key.id}`, { name: 'Other' });
    const rotated = (await write('rotateApiKey', 'post', `/api-keys/${key.id}/rotate`, {})).body;
    await write('deleteApiKey', 'delete', `/api-keys/${key.id}`);
    newSecrets = [key.secret, rotated.secret];

    const invitations = `/organizations/${organization.id}/invitations`;
    const roleId = await inTransaction(
      { db: database.ctx.db, organizationId: organization.id },
      async (tx) => (await tx('roles').first('id')).id,
    );
    const invited = (await write('createInvitation', 'post', invitations, { email: 'new@example.test', roleId })).body;
    await write('resendInvitation', 'post', `${invitations}/${invited.id}/resend`);
    await write('deleteInvitation', 'delete', `${invitations}/${invited.id}`);

    const tba = { accountId, baseUrl: erp.account.url, authentication: { method: 'tba', consumerKey: 'ck', tokenId: 'ti', ...given } };
    await write('putErpConnection', 'put', '/netsuite/connection', tba);
    await write('testErpConnection', 'post', '/netsuite/connection/test');
    await write('createErpCertificate', 'post', '/netsuite/connection/certificate');
    await erp.connect(owner);
    await write('refreshErpMetadata', 'post', '/netsuite/metadata/refresh');

    const config = (await write('createSyncConfig', 'post', '/sync-configs', { name: 'Invoices', recordType: 'invoice' })).body;
    await write('updateSyncConfig', 'patch', `/sync-configs/${config.id}`, { name: 'All invoices' });
    const run = (await write('triggerSync', 'post', `/sync-configs/${config.id}/trigger`, {})).body;
    await write('cancelSyncRun', 'post', `/sync-runs/${run.id}/cancel`);
    await write('retrySyncRun', 'post', `/sync-runs/${run.id}/retry`);
    await write('approveDeletions', 'post', `/sync-configs/${config.id}/approve-deletions`, { proposalId: await heldDeletions() });
    await write('deleteSyncConfig', 'delete', `/sync-configs/${config.id}`);

    const draft = (await write('createApiSchema', 'post', '/api-schema', {})).body;
    await write('updateApiSchema', 'patch', `/api-schema/${draft.id}`, { notes: 'n' });
    await write('createApiSchemaVersion', 'post', `/api-schema/${draft.id}/new-version`);
    await write('deleteApiSchema', 'delete', `/api-schema/${draft.id}`);
    const live = await publishable();
    await write('publishApiSchema', 'post', `/api-schema/${live}/publish`, { revision: 1 });
    await publicationsSettled(database.ctx);
    await write('deprecateApiSchema', 'post', `/api-schema/${live}/deprecate`, {});
    await write('retireApiSchema', 'post', `/api-schema/${live}/retire`, {});
    await write('deleteErpConnection', 'delete', '/netsuite/connection');
    await organizationWrites();

    const writing = platformRoutes.flatMap((route) => (route.access === 'credential' && route.method !== 'GET' ? [route.id] : []));
    expect(writing.filter((id) => !written.has(id))).toEqual(['deleteOrganization', 'validateApiSchema']);
    for (const action of written.values()) expect(action).toMatch(/^[a-z-]+\.[a-z-]+$/);
  });

  it('has no row for what was refused or changed nothing', async () => {
    const before = (await auditRows()).length;
    await owner('post', '/api-keys', { name: '' });
    await owner('post', '/api-schema', { basedOn: 'v99' });
    await owner('get', '/api-keys');
    expect((await auditRows()).length).toBe(before);
  });

  it('no secret is in a row, a log line or an answer', async () => {
    const stored = await inTransaction({ db: database.ctx.db, organizationId: organization.id }, async (tx) => {
      const tables = ['audit_log', 'api_keys', 'erp_connections', 'erp_certificates', 'idempotency_keys', 'erp_metadata'];
      let text = '';
      for (const table of tables) {
        const { rows } = await tx.raw<{ rows: { text: string }[] }>(
          `select coalesce(string_agg(t::text, ' '), '') as text from ${table} t`,
        );
        text += rows[0]?.text;
      }
      return text;
    });
    expect(lines.length).toBeGreaterThan(20);
    const everywhere = { stored, logged: lines.join(''), answered: answers.join('') };
    for (const hidden of [secret, ...newSecrets, ...Object.values(given), 'PRIVATE KEY', 'eyJ'])
      for (const [place, text] of Object.entries(everywhere))
        expect([place, hidden.slice(0, 12), text.includes(hidden)]).toEqual([place, hidden.slice(0, 12), false]);
  });
});

async function organizationWrites(): Promise<void> {
  const at = `/organizations/${organization.id}`;
  await write('updateOrganization', 'patch', at, { name: 'Renamed' });
  const role = (await write('createRole', 'post', `${at}/roles`, { name: 'Clerk', permissions: ['team:read'] })).body;
  await write('updateRole', 'patch', `${at}/roles/${role.id}`, { permissions: ['team:read', 'view:read'] });
  const member = await makeMember(database.ctx, organization.id, 'viewer');
  await write('updateMember', 'patch', `${at}/members/${member.id}`, { roleId: role.id });
  const team = (await write('createTeam', 'post', '/teams', { name: 'Team' })).body;
  await write('updateTeam', 'patch', `/teams/${team.id}`, { name: 'Other team' });
  await write('addTeamMember', 'post', `/teams/${team.id}/members`, { userId: member.id });
  await write('removeTeamMember', 'delete', `/teams/${team.id}/members/${member.id}`);
  await write('deleteTeam', 'delete', `/teams/${team.id}`);
  await write('deleteMember', 'delete', `${at}/members/${member.id}`);
  await write('deleteRole', 'delete', `${at}/roles/${role.id}`);
}

describe('the audit log of a deleted organization', () => {
  it('stays, and says who deleted it', async () => {
    await write('deleteOrganization', 'delete', `/organizations/${organization.id}?confirm=${organization.slug}`);
    expect(written.get('deleteOrganization')).toBe('organization.delete');
  });
});

/** A draft over a record type that has a column, as a complete run would have left it. */
async function publishable(): Promise<string> {
  const schema = `wh_${organization.id.replaceAll('-', '')}`;
  await database.ctx.db.data.query(
    `create table ${schema}.thing_1 (id bigint primary key, c1 text);
     insert into ${schema}.record_state (record_type, id_type, generation, row_count, epoch, active_table, synced_at)
       values ('thing', 'integer', 1, 0, gen_random_uuid(), 'thing_1', now());
     insert into ${schema}.record_columns (record_type, column_name, field, part, type, state, position) values ('thing', 'c1', 'title', 'value', 'text', 'live', 1)`,
  );
  const endpoints = [{ name: 'things', recordType: 'thing', fields: [{ name: 'title', source: 'title' }] }];
  return (await owner('post', '/api-schema', { endpoints })).body.id;
}

describe('the log', () => {
  it('cuts secrets out by name, wherever they stand', () => {
    const out: string[] = [];
    const log = openLog('info', { write: (line: string) => void out.push(line) });
    log.info(
      {
        authorization: 'Bearer hidden',
        a: { secret: 'hidden', b: { token: 'hidden', privateKeyPem: 'hidden' } },
        list: [{ password: 'hidden' }],
      },
      'x',
    );
    log.info({ err: Object.assign(new Error('y'), { headers: { cookie: 'hidden', authorization: 'hidden' } }) }, 'y');
    log.child({ apiKey: 'hidden' }).info('z');
    expect(out.join('')).not.toContain('hidden');
  });
});
