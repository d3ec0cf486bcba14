// What the database itself guarantees, whatever the code does: tenant isolation, immutable published
// versions, an append-only audit log.
import type { Knex } from 'knex';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { openKnex } from '../../src/db/connect.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeMember, makeOrganization } from '../setup/organization.ts';

/**
 * Tables of no organization: the service's own counters and state, and people with their sessions, who may
 * belong to several.
 */
const shared = [
  'control_moves',
  'function_release',
  'knex_migrations',
  'knex_migrations_lock',
  'paused_processes',
  'rate_limits',
  'server_timelines',
  'sessions',
  'used_sign_ins',
  'user_identities',
  'users',
];

let database: TestDatabase;
let admin: Knex;
let mine: { id: string; ownerId: string };
let other: { id: string; ownerId: string };
let tables: string[];

beforeAll(async () => {
  database = await testDatabase();
  admin = openKnex(database.address, null, 2);
  mine = await makeOrganization(database.ctx);
  other = await makeOrganization(database.ctx);
  tables = (
    await rows<{ name: string }>(
      "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1",
    )
  )
    .map(({ name }) => name)
    .filter((name) => !shared.includes(name));
  await fillEveryTable(mine.id);
});
afterAll(async () => {
  await admin.destroy();
  await database.close();
});

const rows = async <T>(sql: string, bindings: readonly Knex.RawBinding[] = []): Promise<T[]> =>
  (await admin.raw<{ rows: T[] }>(sql, bindings)).rows;
const as = <T>(organizationId: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction({ db: database.ctx.db, organizationId }, work);
/** As the service, in no organization. */
const service = { raw: <T>(sql: string) => database.ctx.db.control.raw<{ rows: T[] }>(sql) };
const organizationColumn = (table: string): string => (table === 'organizations' ? 'id' : 'organization_id');

/** At least one row of the organization in every table, as the service would write it. */
async function fillEveryTable(id: string): Promise<void> {
  await makeKey(database.ctx, id);
  await makeMember(database.ctx, id, ['team:read']);
  const [configId, runId] = [createId(), createId()];
  await as(id, async (tx) => {
    const own = { organization_id: id };
    const user = await tx('memberships').first<{ user_id: string }>('user_id');
    await tx('audit_log').insert({
      ...own,
      id: createId(),
      credential_kind: 'api-key',
      action: 'x',
      target_type: 'x',
    });
    await tx('user_activity').insert({ ...own, user_id: user.user_id, month: '2026-01-01' });
    await tx('erp_connections').insert({ ...own, kind: 'netsuite', account_id: '1', settings: '{}' });
    await tx('erp_certificates').insert({
      ...own,
      slot: 1,
      certificate_pem: 'x',
      private_key: 'x',
      not_after: new Date(),
    });
    await tx('erp_queries').insert({
      ...own,
      name: 'x',
      label: 'x',
      query: 'select id from x',
      key_column: 'id',
    });
    await tx('erp_metadata').insert({ ...own, refreshed_at: new Date() });
    await tx('erp_record_types').insert({ ...own, name: 'x', position: 0, head: '{}' });
    await tx('sync_configs').insert({
      ...own,
      id: configId,
      name: 'x',
      record_type: 'invoice',
      mode: 'full',
      deletions: 'none',
    });
    await tx('sync_runs').insert({
      ...own,
      id: runId,
      sync_config_id: configId,
      record_type: 'invoice',
      mode: 'full',
      trigger: 'manual',
    });
    await tx('sync_run_events').insert({ ...own, run_id: runId, level: 'info', message: 'x' });
    const drift = {
      record_type: 'invoice',
      kind: 'added',
      field: 'x',
      to_type: 'text',
      run_id: runId,
      at: new Date(),
    };
    await tx('drift_events').insert({ ...own, ...drift, id: createId() });
    await tx('sync_alerts').insert({ ...own, sync_config_id: configId });
    await tx('certificate_alerts').insert({ ...own, fingerprint: 'x', days: 60 });
    const versionId = createId();
    await tx('api_schemas').insert({ ...own, id: versionId, version: 'v1', created_by: user.user_id });
    await tx('publication_reports').insert({ ...own, api_schema_id: versionId, revision: 1 });
    const key = await tx('api_keys').first<{ id: string }>('id');
    await tx('token_revocations').insert({ ...own, api_key_id: key.id, subject: 'x' });
    await tx('token_signing_keys').insert({ ...own, kid: createId(), public_key: 'x', private_key: 'x' });
    await tx('mask_secrets').insert({ ...own, secret: 'x' });
    await tx('api_key_usage').insert({
      ...own,
      api_key_id: key.id,
      day: '2026-03-02',
      version: 'v1',
      resource: 'x',
    });
    await tx('idempotency_keys').insert({
      ...own,
      credential_id: 'x',
      route_id: 'x',
      key: 'x',
      request_hash: Buffer.from('x'),
    });
    await tx('outgoing_mails').insert({
      ...own,
      id: createId(),
      kind: 'x',
      recipient: 'x',
      message_id: createId(),
      subject: 'x',
      body: 'x',
    });
    const role = await tx('roles').first<{ id: string; name: string }>('id', 'name');
    await tx('invitations').insert({
      ...own,
      id: createId(),
      email: 'x@example.test',
      role_id: role.id,
      role_name: role.name,
      token_hash: Buffer.from(id),
      invited_by: user.user_id,
      expires_at: new Date(),
    });
    const claimed = { hostname: 'acme.example', verification_value: 'x', next_check_at: new Date() };
    await tx('domains').insert({ ...own, ...claimed, id: createId() });
    await tx('agent_credit_entries').insert({ ...own, id: createId(), credits: 1, kind: 'x' });
    const [agentId, conversationId] = [createId(), createId()];
    await tx('agents').insert({ ...own, id: agentId, name: 'x', model: 'offline', api_version: 'v1' });
    await tx('conversations').insert({
      ...own,
      id: conversationId,
      agent_id: agentId,
      owner_id: user.user_id,
    });
    const turn = { ...own, conversation_id: conversationId };
    await tx('conversation_messages').insert({
      ...turn,
      id: createId(),
      role: 'user',
      content: 'x',
      status: 'complete',
    });
    const held = {
      message_id: createId(),
      agent_id: agentId,
      month: '2026-01-01',
      credits: 1,
      lease_until: '2126-01-01',
    };
    await tx('running_answers').insert({ ...turn, ...held });
    await tx('warehouse_sizes').insert({ ...own, bytes: 1, records: 1, measured_at: new Date() });
    await tx('portal_field_mappings').insert({
      ...own,
      id: createId(),
      record_type: 'invoice',
      fields: '[]',
    });
    await tx('portal_sidebars').insert({ ...own, items: '[]' });
    await tx('portal_pages').insert({ ...own, id: createId(), slug: 'x', title: 'x', blocks: '[]' });
    await tx('portal_templates').insert({ ...own, id: createId(), key: 'x', kind: 'document', body: 'x' });
    const teamId = createId();
    await tx('teams').insert({ ...own, id: teamId, name: 'x' });
    await tx('team_members').insert({ ...own, team_id: teamId, user_id: user.user_id });
    const view = { name: 'x', record_type: 'invoice', columns: ['x'], visibility: 'team', team_id: teamId };
    const viewId = createId();
    await tx('views').insert({ ...own, ...view, id: viewId, owner_id: user.user_id });
    await subscribe(tx, own, viewId, user.user_id);
    await pay(tx, own);
    await useSandbox(tx, own);
  });
}

async function pay(tx: Tx, own: { organization_id: string }): Promise<void> {
  const [account_id, payment_id, payout_id] = [createId(), createId(), createId()];
  await tx('pay_accounts').insert({ ...own, id: account_id, provider: 'sandbox' });
  await tx('pay_configs').insert({ ...own, account_id, currency: 'GBP', enabled: true, invoices: '{}' });
  await tx('pay_payments').insert({
    ...own,
    id: payment_id,
    account_id,
    customer_id: 'x',
    currency: 'GBP',
    amount_minor: 1,
  });
  const returns = { success_url: 'x', cancel_url: 'x' };
  await tx('pay_checkouts').insert({
    ...own,
    ...returns,
    id: createId(),
    payment_id,
    title: 'x',
    expires_at: new Date(),
  });
  const share = {
    position: 0,
    record_id: 'x',
    number: 'x',
    amount_minor: 1,
    due_minor: 1,
    read_at: new Date(),
  };
  await tx('pay_payment_invoices').insert({ ...own, ...share, payment_id });
  await tx('pay_erp_documents').insert({
    ...own,
    id: createId(),
    payment_id,
    kind: 'payment',
    external_id: 'x',
  });
  await tx('pay_refunds').insert({ ...own, id: createId(), payment_id, amount_minor: 1 });
  const payout = {
    provider_payout_id: 'x',
    status: 'PAID',
    currency: 'GBP',
    amount_minor: 1,
    arrival_date: '2026-03-02',
  };
  await tx('pay_payouts').insert({ ...own, ...payout, id: payout_id, account_id, created_at: new Date() });
  await tx('pay_payout_entries').insert({
    ...own,
    payout_id,
    position: 0,
    kind: 'payment',
    payment_id,
    amount_minor: 1,
  });
  await tx('pay_events').insert({ ...own, account_id, event_id: 'x', type: 'x' });
  await tx('pay_tasks').insert({ ...own, account_id, kind: 'account', subject: '' });
}

async function useSandbox(tx: Tx, own: { organization_id: string }): Promise<void> {
  const [id, account_id] = [createId(), createId()];
  const sums = { amount_minor: 1, currency: 'GBP' };
  const session = {
    checkout_id: 'x',
    payment_id: 'x',
    token_hash: Buffer.from(id),
    token: 'x',
    title: 'x',
    items: '[]',
  };
  const addresses = { success_url: 'x', cancel_url: 'x', expires_at: new Date() };
  await tx('sandbox_payments').insert({ ...own, ...sums, ...session, ...addresses, id, account_id });
  await tx('sandbox_refunds').insert({
    ...own,
    id: createId(),
    session_id: id,
    amount_minor: 1,
    state: 'PENDING',
  });
  await tx('sandbox_payouts').insert({
    ...own,
    ...sums,
    id: createId(),
    account_id,
    arrival_date: '2026-03-03',
    created_at: new Date(),
  });
  await tx('sandbox_events').insert({ ...own, id: createId(), account_id, body: '{}' });
}

async function subscribe(
  tx: Tx,
  own: { organization_id: string },
  viewId: string,
  ownerId: string,
): Promise<void> {
  const [id, recipientId, slotId] = [createId(), createId(), createId()];
  const row = { view_id: viewId, owner_id: ownerId, schedule: '0 7 * * *', timezone: 'UTC', format: 'csv' };
  await tx('subscriptions').insert({ ...own, ...row, id });
  await tx('subscription_recipients').insert({
    ...own,
    id: recipientId,
    subscription_id: id,
    email: 'x@example.test',
  });
  await tx('subscription_slots').insert({
    ...own,
    id: slotId,
    subscription_id: id,
    trigger: 'manual',
    slot: new Date(),
  });
  const delivery = {
    subscription_id: id,
    slot_id: slotId,
    recipient_id: recipientId,
    message_id: createId(),
    status: 'queued',
  };
  await tx('subscription_deliveries').insert({ ...own, ...delivery, id: createId() });
  await tx('subscription_links').insert({
    ...own,
    recipient_id: recipientId,
    title: 'x',
    token_hash: Buffer.from(id),
  });
  await tx('mail_attachments').insert({
    ...own,
    id: createId(),
    filename: 'x',
    content_type: 'text/csv',
    content: 'x',
  });
}

describe('roles', () => {
  it('the service connects as a role that is subject to row-level security and owns no configuration', async () => {
    const { rows: who } = await service.raw<{ current_user: string }>('select current_user');
    expect(who[0]?.current_user).toBe('portal_service');
    expect(
      await rows(
        "select rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolcanlogin from pg_roles where rolname like 'portal\\_%' order by 1",
      ),
    ).toEqual(
      ['portal_login', 'portal_owner', 'portal_service', 'portal_simulator'].map((rolname) => ({
        rolname,
        rolsuper: false,
        rolbypassrls: false,
        rolcreaterole: false,
        rolcreatedb: false,
        rolcanlogin: rolname === 'portal_login',
      })),
    );
    expect(
      await rows(
        "select relname from pg_class where relnamespace = 'public'::regnamespace and relowner = 'portal_service'::regrole",
      ),
    ).toEqual([]);
    expect(await rows("select from pg_auth_members where member = 'portal_service'::regrole")).toEqual([]);
  });

  it('only these functions see across organizations, and only the service may call them', async () => {
    const found = await rows<{ name: string; public: boolean; path: string[] }>(
      `select proname as name, has_function_privilege('portal_simulator', oid, 'execute') as public, proconfig as path
       from pg_proc where pronamespace = 'public'::regnamespace and prosecdef order by 1`,
    );
    expect(found.map(({ name }) => name)).toEqual(definers);
    expect(
      found.filter(
        (row) =>
          row.public || !row.path?.some((setting) => setting.startsWith('search_path=public, pg_temp')),
      ),
    ).toEqual([]);
  });
});

/** Adding one here is a decision: each answers exactly one question across organizations. */
const definers = [
  'add_api_key_usage',
  'all_organizations',
  'claim_agent_checks',
  'claim_due_domains',
  'claim_outgoing_mail',
  'claim_pay_erp_payment',
  'claim_pay_task',
  'claim_publications',
  'claim_sandbox_event',
  'claim_subscription_slot',
  'claim_sync_run',
  'commits_may_be_lost',
  'due_in_sandbox',
  'end_lost_answers',
  'ended_staged_runs',
  'enqueue_scheduled_runs',
  'ensure_user',
  'find_api_key',
  'find_identity',
  'find_invitation',
  'find_pay_account',
  'find_sandbox_payment',
  'find_session',
  'find_subscription_link',
  'find_token_key',
  'find_token_signing_key',
  'invited',
  'last_failover',
  'link_identity',
  'memberships_of',
  'note_server_timeline',
  'note_write',
  'operational_figures',
  'organizations_being_deleted',
  'organizations_elsewhere',
  'organizations_of',
  'organizations_with_ended_secret',
  'organizations_with_erp_news',
  'organizations_with_expiring_certificate',
  'prune_api_key_usage',
  'prune_drift_events',
  'prune_expired',
  'prune_mails',
  'prune_pay_events',
  'prune_subscriptions',
  'scheduled_subscriptions',
  'scheduled_sync_configs',
  'tables_pending',
  'unfinished_publications',
];

describe('row-level security', () => {
  it('is forced on every table except the shared ones', async () => {
    const found = await rows<{ name: string; forced: boolean; column: boolean }>(
      `select relname as name, relrowsecurity and relforcerowsecurity as forced,
              exists (select from pg_attribute a where a.attrelid = c.oid and a.attname in ('organization_id', 'slug')) as column
       from pg_class c where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')`,
    );
    expect(found.filter(({ name, column }) => column === shared.includes(name))).toEqual([]);
    expect(
      found.filter(({ forced, column, name }) => !forced && (column || name.startsWith('user'))),
    ).toEqual([]);
  });

  it('hides and protects rows without an organization or for another one, even from a query without a condition', async () => {
    for (const table of tables) {
      const count = async (work: Promise<{ rows: { n: number }[] }>) => (await work).rows[0]?.n;
      const sql = `select count(*)::int as n from ${table}`;
      expect([table, await count(as(mine.id, (tx) => tx.raw(sql)))]).not.toEqual([table, 0]);
      expect([table, await count(service.raw(sql))]).toEqual([table, 0]);
      const foreign = `${sql} where ${organizationColumn(table)} = '${mine.id}'`;
      expect([table, await count(as(other.id, (tx) => tx.raw(foreign)))]).toEqual([table, 0]);
      const before = await rows(
        `select t::text from ${table} t where ${organizationColumn(table)} = '${mine.id}' order by 1`,
      );
      for (const write of [
        `update ${table} set ${organizationColumn(table)} = '${other.id}'`,
        `delete from ${table}`,
      ]) {
        // Row-level security leaves no row to write; an append-only table rejects the write by its grants.
        await service.raw(write).catch(() => undefined);
        await as(other.id, (tx) =>
          tx.raw(`${write} where ${organizationColumn(table)} = '${mine.id}'`),
        ).catch(() => undefined);
      }
      expect([
        table,
        await rows(
          `select t::text from ${table} t where ${organizationColumn(table)} = '${mine.id}' order by 1`,
        ),
      ]).toEqual([table, before]);
    }
  });

  it('limits statements without a condition on the organization to its own rows', async () => {
    const careless = await makeOrganization(database.ctx);
    await fillEveryTable(careless.id);
    const theirs = () =>
      Promise.all(
        tables.map((table) =>
          rows(`select t::text from ${table} t where ${organizationColumn(table)} = '${mine.id}' order by 1`),
        ),
      );
    const before = await theirs();
    for (const table of tables) {
      const column = organizationColumn(table);
      const seen = await as(careless.id, (tx) =>
        tx.raw<{ rows: unknown[] }>(`select distinct ${column} as id from ${table}`),
      );
      expect([table, seen.rows]).toEqual([table, [{ id: careless.id }]]);
      const insert = `insert into ${table} (${column}) values ('${mine.id}')`;
      await expect(
        as(careless.id, (tx) => tx.raw(insert)),
        table,
      ).rejects.toThrow(/row-level security/);
    }
    const failed: string[] = [];
    // The organization itself comes last: deleting it deletes everything else.
    const order = [...tables.filter((table) => table !== 'organizations'), 'organizations'];
    const updates = order.map(
      (table) => `update ${table} set ${organizationColumn(table)} = ${organizationColumn(table)}`,
    );
    for (const write of [...updates, ...order.map((table) => `delete from ${table}`)]) {
      await as(careless.id, (tx) => tx.raw(write)).catch((error: Error) => failed.push(error.message));
      expect([write, await theirs()]).toEqual([write, before]);
    }
    // Failures are due to a missing grant or to remaining references only.
    expect(
      failed.filter((message) => !/permission denied|violates foreign key constraint/.test(message)),
    ).toEqual([]);
    expect(await rows('select from roles where organization_id = ?', [careless.id])).toEqual([]);
  });

  it('rejects a row inserted into another organization', async () => {
    const insert = { id: createId(), organization_id: mine.id, name: 'x' };
    await expect(as(other.id, (tx) => tx('roles').insert(insert))).rejects.toThrow(/row-level security/);
    await expect(database.ctx.db.control('roles').insert(insert)).rejects.toThrow(/row-level security/);
    await expect(
      as(mine.id, (tx) =>
        tx('roles').where({ organization_id: mine.id }).update({ organization_id: other.id }),
      ),
    ).rejects.toThrow(/row-level security/);
  });

  it('hides people from organizations that they do not belong to', async () => {
    const seen = (id: string) =>
      as(id, async (tx) => (await tx('users').select<{ id: string }[]>('id')).map((user) => user.id));
    expect(await seen(mine.id)).toContain(mine.ownerId);
    expect(await seen(other.id)).toEqual([other.ownerId]);
    expect((await service.raw('select * from users')).rows).toEqual([]);
    await expect(service.raw('select * from user_identities')).rejects.toThrow(/permission denied/);
    await expect(as(mine.id, (tx) => tx('users').update({ email: 'x' }))).rejects.toThrow(
      /permission denied/,
    );
  });
});

describe('a published version', () => {
  const publish = async (version: string): Promise<string> => {
    const id = createId();
    await as(mine.id, (tx) =>
      tx('api_schemas').insert({
        id,
        organization_id: mine.id,
        version,
        status: 'published',
        bindings: '{}',
        openapi: '{}',
        published_at: new Date(),
        created_by: mine.ownerId,
      }),
    );
    return id;
  };

  it('can change in status and sunset only, for every role', async () => {
    const id = await publish('v101');
    const columns = await rows<{ name: string }>(
      "select column_name as name from information_schema.columns where table_schema = 'public' and table_name = 'api_schemas' order by 1",
    );
    const changes: Record<string, string> = {
      id: 'gen_random_uuid()',
      organization_id: `'${other.id}'`,
      version: "'v102'",
      name: "'x'",
      notes: "'x'",
      endpoints: `'[{"x":1}]'`,
      revision: '9',
      publication: "'{}'",
      publication_lease_until: 'now()',
      bindings: `'{"x":1}'`,
      openapi: "'x'",
      published_at: "'2020-01-01'",
      published_by: 'gen_random_uuid()',
      created_by: 'gen_random_uuid()',
      created_at: "'2020-01-01'",
    };
    const free = ['status', 'sunset_at', 'deprecated_at', 'updated_at'];
    expect([...Object.keys(changes), ...free].sort()).toEqual(columns.map(({ name }) => name));
    for (const [column, value] of Object.entries(changes)) {
      const sql = `update api_schemas set ${column} = ${value} where id = '${id}'`;
      await expect(
        as(mine.id, (tx) => tx.raw(sql)),
        column,
      ).rejects.toThrow(/Published schemas are immutable|row-level security/);
      await expect(admin.raw(sql), column).rejects.toThrow('Published schemas are immutable');
    }
    await as(mine.id, (tx) =>
      tx('api_schemas').where({ id }).update({
        status: 'deprecated',
        sunset_at: new Date(),
        deprecated_at: new Date(),
        updated_at: new Date(),
      }),
    );
    await as(mine.id, (tx) => tx('api_schemas').where({ id }).update({ status: 'retired' }));
    await expect(
      as(mine.id, (tx) => tx('api_schemas').where({ id }).update({ status: 'draft' })),
    ).rejects.toThrow('Published schemas are immutable');
  });

  it('can not be deleted, except with its organization', async () => {
    const id = await publish('v103');
    await expect(as(mine.id, (tx) => tx('api_schemas').where({ id }).delete())).rejects.toThrow(
      'Published schemas are immutable',
    );
    await expect(admin('api_schemas').where({ id }).delete()).rejects.toThrow(
      'Published schemas are immutable',
    );
    await expect(as(mine.id, (tx) => tx.raw('truncate api_schemas'))).rejects.toThrow(/permission denied/);
    const doomed = await makeOrganization(database.ctx);
    await as(doomed.id, (tx) =>
      tx('api_schemas').insert({
        id: createId(),
        organization_id: doomed.id,
        version: 'v1',
        status: 'published',
        bindings: '{}',
        openapi: '{}',
        published_at: new Date(),
        created_by: doomed.ownerId,
      }),
    );
    await as(doomed.id, (tx) => tx('organizations').where({ id: doomed.id }).delete());
    expect(await rows('select from api_schemas where organization_id = ?', [doomed.id])).toEqual([]);
  });
});

describe('the audit log', () => {
  it('can be appended to and read, but neither changed nor emptied', async () => {
    for (const sql of ["update audit_log set action = 'y'", 'delete from audit_log', 'truncate audit_log'])
      await expect(as(mine.id, (tx) => tx.raw(sql))).rejects.toThrow(/permission denied/);
  });
});

describe('prune_expired', () => {
  it('deletes what has expired and keeps everything else', async () => {
    const last = await as(mine.id, (tx) =>
      tx('sync_runs').first<{ id: string; sync_config_id: string }>('id', 'sync_config_id'),
    );
    const old = {
      organization_id: mine.id,
      sync_config_id: last.sync_config_id,
      record_type: 'invoice',
      mode: 'full',
      trigger: 'manual',
      status: 'failed',
    };
    await as(mine.id, async (tx) => {
      await tx('sync_runs').insert({
        ...old,
        id: createId(),
        queued_at: '2020-01-01',
        finished_at: '2020-01-01',
      });
      await tx('sync_run_events').insert({
        organization_id: mine.id,
        run_id: last.id,
        level: 'info',
        message: 'old',
        at: '2020-01-01',
      });
      await tx('idempotency_keys').insert({
        organization_id: mine.id,
        credential_id: 'x',
        route_id: 'x',
        key: 'old',
        request_hash: Buffer.from('x'),
        created_at: '2020-01-01',
      });
      await tx('rate_limits').insert({ key: 'old', hits: 1, resets_at: '2020-01-01' });
      await tx('rate_limits').insert({ key: 'new', hits: 1, resets_at: new Date(Date.now() + 60_000) });
    });
    await service.raw('select prune_expired()');
    const counts = await rows<{ counts: number[] }>(
      `select array[(select count(*) from sync_runs), (select count(*) from sync_run_events), (select count(*) from idempotency_keys), (select count(*) from rate_limits)]::int[] as counts`,
    );
    expect(counts[0]?.counts).toEqual([1, 1, 1, 1]);
  });
});
