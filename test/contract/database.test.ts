// What the database itself guarantees, whatever the code does: tenant isolation, immutable published
// versions, an append-only audit log.
import { randomBytes } from 'node:crypto';
import type { Knex } from 'knex';
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { inTransaction, type Tx } from '../../src/db/transaction.ts';
import { makeKey, makeMember, makeOrganization } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';

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

const org = useOrganization();
let mine: { id: string; ownerId: string };
let other: { id: string; ownerId: string };
let tables: string[];

beforeAll(async () => {
  [mine, other] = [await makeOrganization(org.ctx), await makeOrganization(org.ctx)];
  const found = await rows<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') order by 1",
  );
  tables = found.map(({ name }) => name).filter((name) => !shared.includes(name));
  await fillEveryTable(mine.id, mine.ownerId);
});

const rows = async <T>(sql: string, bindings: readonly Knex.RawBinding[] = []): Promise<T[]> =>
  (await org.admin.raw<{ rows: T[] }>(sql, bindings)).rows;
const as = <T>(organizationId: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  inTransaction({ db: org.ctx.db, organizationId }, work);
/** As the service, in no organization. */
const service = { raw: <T>(sql: string) => org.ctx.db.control.raw<{ rows: T[] }>(sql) };
const organizationColumn = (table: string): string => (table === 'organizations' ? 'id' : 'organization_id');

/** A row of every other table, each after those that it refers to. */
function rowsFor(user_id: string, api_key_id: string, role_id: string): [table: string, row: object][] {
  const [config, run, version, agent, conversation, team] = Array.from({ length: 6 }, createId);
  const [view, subscription, recipient, slot] = Array.from({ length: 4 }, createId);
  const [endpoint, webhookMessage] = [createId(), createId()];
  const [account_id, payment_id, payout_id, session] = Array.from({ length: 4 }, createId);
  const id = createId();
  const now = new Date();
  const hash = randomBytes(32);
  const money = { currency: 'GBP', amount_minor: 1 };
  const addresses = { success_url: 'x', cancel_url: 'x', expires_at: now };
  return [
    ['audit_log', { id, credential_kind: 'api-key', action: 'x', target_type: 'x' }],
    ['user_activity', { user_id, month: '2026-01-01' }],
    ['erp_connections', { kind: 'netsuite', account_id: '1', settings: '{}' }],
    ['erp_certificates', { slot: 1, certificate_pem: 'x', private_key: 'x', not_after: now }],
    ['erp_queries', { name: 'x', label: 'x', query: 'select id from x', key_column: 'id' }],
    ['erp_metadata', { refreshed_at: now }],
    ['erp_record_types', { name: 'x', position: 0, head: '{}' }],
    ['sync_configs', { id: config, name: 'x', record_type: 'x', mode: 'full', deletions: 'none' }],
    ['sync_runs', { id: run, sync_config_id: config, record_type: 'x', mode: 'full', trigger: 'manual' }],
    ['sync_rereads', { sync_config_id: config, record_id: 'x' }],
    ['sync_run_events', { run_id: run, level: 'info', message: 'x' }],
    ['drift_events', { id, record_type: 'x', kind: 'added', field: 'x', to_type: 'x', run_id: run, at: now }],
    ['sync_alerts', { sync_config_id: config }],
    ['certificate_alerts', { fingerprint: 'x', days: 60 }],
    ['api_schemas', { id: version, version: 'v1', created_by: user_id }],
    ['publication_reports', { api_schema_id: version, revision: 1 }],
    ['token_revocations', { api_key_id, subject: 'x' }],
    ['token_signing_keys', { kid: id, public_key: 'x', private_key: 'x' }],
    ['mask_secrets', { secret: 'x' }],
    ['api_key_usage', { api_key_id, day: '2026-03-02', version: 'v1', resource: 'x' }],
    ['idempotency_keys', { credential_id: 'x', route_id: 'x', key: 'x', request_hash: hash }],
    ['jobs', { kind: 'x', key: 'x' }],
    ['outgoing_mails', { id, kind: 'x', recipient: 'x', message_id: id, subject: 'x', body: 'x' }],
    [
      'invitations',
      { id, email: 'x', role_id, role_name: 'x', token_hash: hash, invited_by: user_id, expires_at: now },
    ],
    ['domains', { id, hostname: 'acme.example', verification_value: 'x', next_check_at: now }],
    ['agent_credit_entries', { id, credits: 1, kind: 'x' }],
    ['agents', { id: agent, name: 'x', model: 'offline', api_version: 'v1' }],
    ['conversations', { id: conversation, agent_id: agent, owner_id: user_id }],
    [
      'conversation_messages',
      { id, conversation_id: conversation, role: 'user', content: 'x', status: 'complete' },
    ],
    [
      'running_answers',
      {
        ...{ conversation_id: conversation, message_id: id, agent_id: agent },
        ...{ month: '2026-01-01', credits: 1, lease_until: '2126-01-01' },
      },
    ],
    ['warehouse_sizes', { bytes: 1, records: 1, measured_at: now }],
    ['portal_field_mappings', { id, record_type: 'x', fields: '[]' }],
    ['portal_sidebars', { items: '[]' }],
    ['portal_branding', { settings: '{}' }],
    ['portal_sign_in', { issuer: 'x', client_id: 'x' }],
    [
      'portal_sessions',
      { id, token_hash: hash, host: 'x', email: 'x@x.example', ip: 'x', ends_at: '2126-01-01' },
    ],
    ['portal_activity', { email: 'x@x.example', month: '2026-01-01' }],
    [
      'portal_mail_orders',
      { id, email: 'x', customer: '1', kinds: ['due'], due_days: 3, with_pdf: true, language: 'en' },
    ],
    ['portal_mailed', { order_id: id, kind: 'due', record: 'x', is_mailed: true }],
    [
      'webhook_endpoints',
      {
        ...{ id: endpoint, url: 'x', description: '', events: ['sync.failed'], resources: [], api_key_id },
        ...{ include: 'none', signature: 'v1', secret: 'x', enabled: true },
      },
    ],
    ['webhook_positions', { endpoint_id: endpoint, resource: 'x' }],
    [
      'webhook_messages',
      {
        ...{ id: webhookMessage, endpoint_id: endpoint, type: 'x', data: '{}', status: 'waiting' },
        ...{ due_at: now, created_at: now },
      },
    ],
    [
      'webhook_attempts',
      { id, message_id: webhookMessage, number: 1, reason: 'test', started_at: now, duration_ms: 1 },
    ],
    ['portal_usage', { email: 'x@x.example', day: '2026-03-02', record_type: 'x' }],
    ['portal_visitors', { id, email: 'x@x.example' }],
    ['portal_access', { revision: 1, settings: '{}' }],
    ['portal_pages', { id, slug: 'x', title: 'x', blocks: '[]' }],
    ['portal_templates', { id, key: 'x', kind: 'document', body: 'x' }],
    ['teams', { id: team, name: 'x' }],
    ['team_members', { team_id: team, user_id }],
    [
      'views',
      {
        ...{ id: view, owner_id: user_id, name: 'x', record_type: 'x', columns: ['x'] },
        ...{ visibility: 'team', team_id: team },
      },
    ],
    [
      'view_links',
      {
        ...{ id, view_id: view, name: 'x', token_hash: hash, rows: '[]', created_by: user_id },
        expires_at: now,
      },
    ],
    [
      'subscriptions',
      {
        ...{ id: subscription, view_id: view, owner_id: user_id },
        ...{ schedule: '0 7 * * *', timezone: 'UTC', format: 'csv' },
      },
    ],
    ['subscription_recipients', { id: recipient, subscription_id: subscription, email: 'x@example.test' }],
    ['subscription_slots', { id: slot, subscription_id: subscription, trigger: 'manual', slot: now }],
    [
      'subscription_deliveries',
      {
        ...{ id, subscription_id: subscription, slot_id: slot, recipient_id: recipient },
        ...{ message_id: id, status: 'queued' },
      },
    ],
    ['subscription_links', { recipient_id: recipient, title: 'x', token_hash: hash }],
    ['mail_attachments', { id, filename: 'x', content_type: 'text/csv', content: 'x' }],
    ['pay_accounts', { id: account_id, provider: 'sandbox' }],
    ['pay_configs', { account_id, currency: 'GBP', enabled: true, invoices: '{}' }],
    ['pay_payments', { ...money, id: payment_id, account_id, customer_id: 'x' }],
    ['pay_checkouts', { ...addresses, id, payment_id, title: 'x' }],
    [
      'pay_payment_invoices',
      { payment_id, position: 0, record_id: 'x', number: 'x', amount_minor: 1, due_minor: 1, read_at: now },
    ],
    ['pay_erp_documents', { id, payment_id, kind: 'payment', external_id: 'x' }],
    ['pay_refunds', { id, payment_id, amount_minor: 1 }],
    [
      'pay_payouts',
      {
        ...{ ...money, id: payout_id, account_id, provider_payout_id: 'x', status: 'PAID' },
        ...{ arrival_date: '2026-03-02', created_at: now },
      },
    ],
    ['pay_payout_entries', { payout_id, position: 0, kind: 'payment', payment_id, amount_minor: 1 }],
    ['pay_events', { account_id, event_id: 'x', type: 'x' }],
    ['pay_tasks', { account_id, kind: 'account', subject: '' }],
    [
      'sandbox_payments',
      {
        ...{ ...money, ...addresses, id: session, account_id, checkout_id: 'x', payment_id: 'x' },
        ...{ token_hash: hash, token: 'x', title: 'x', items: '[]' },
      },
    ],
    ['sandbox_refunds', { id, session_id: session, amount_minor: 1, state: 'PENDING' }],
    ['sandbox_payouts', { ...money, id, account_id, arrival_date: '2026-03-03', created_at: now }],
    ['sandbox_events', { id, account_id, body: '{}' }],
  ];
}

/** At least one row of the organization in every table, as the service would write it. */
async function fillEveryTable(id: string, userId: string): Promise<void> {
  const key = await makeKey(org.ctx, id);
  await makeMember(org.ctx, id, ['team:read']);
  await as(id, async (tx) => {
    const role = await tx('roles').first<{ id: string }>('id');
    for (const [table, row] of rowsFor(userId, key.id, role.id))
      await tx(table).insert({ organization_id: id, ...row });
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
  'add_portal_usage',
  'add_view_link_uses',
  'adopt_older_work',
  'all_organizations',
  'claim_agent_checks',
  'claim_due_domains',
  'claim_job',
  'claim_outgoing_mail',
  'claim_pay_erp_payment',
  'claim_pay_task',
  'claim_publications',
  'claim_sandbox_event',
  'claim_subscription_slot',
  'claim_sync_run',
  'commits_may_be_lost',
  'due_freshness_slots',
  'due_in_sandbox',
  'end_lost_answers',
  'ended_staged_runs',
  'enqueue_scheduled_runs',
  'ensure_user',
  'find_api_key',
  'find_first_owner',
  'find_identity',
  'find_invitation',
  'find_mail_recipient',
  'find_pay_account',
  'find_portal',
  'find_portal_visit',
  'find_sandbox_payment',
  'find_session',
  'find_subscription_link',
  'find_token_key',
  'find_token_signing_key',
  'find_view_link',
  'invited',
  'last_failover',
  'link_identity',
  'memberships_of',
  'newly_stale_syncs',
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
  'take_older_job',
  'unfinished_publications',
];

describe('row-level security', () => {
  const rowsOfMine = (table: string) =>
    rows(`select t::text from ${table} t where ${organizationColumn(table)} = '${mine.id}' order by 1`);

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
      const before = await rowsOfMine(table);
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
      expect([table, await rowsOfMine(table)]).toEqual([table, before]);
    }
  });

  it('limits statements without a condition on the organization to its own rows', async () => {
    const careless = await makeOrganization(org.ctx);
    await fillEveryTable(careless.id, careless.ownerId);
    const theirs = () => Promise.all(tables.map(rowsOfMine));
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
    await expect(org.ctx.db.control('roles').insert(insert)).rejects.toThrow(/row-level security/);
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
  const publish = async (version: string, { id: organization_id, ownerId } = mine): Promise<string> => {
    const id = createId();
    const live = { status: 'published', bindings: '{}', openapi: '{}', published_at: new Date() };
    await as(organization_id, (tx) =>
      tx('api_schemas').insert({ ...live, id, organization_id, version, created_by: ownerId }),
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
      openapi_with_examples: "'x'",
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
      await expect(org.admin.raw(sql), column).rejects.toThrow('Published schemas are immutable');
    }
    const update = (row: object) => as(mine.id, (tx) => tx('api_schemas').where({ id }).update(row));
    const now = new Date();
    await update({ status: 'deprecated', sunset_at: now, deprecated_at: now, updated_at: now });
    await update({ status: 'retired' });
    await expect(update({ status: 'draft' })).rejects.toThrow('Published schemas are immutable');
  });

  it('can not be deleted, except with its organization', async () => {
    const id = await publish('v103');
    const immutable = 'Published schemas are immutable';
    await expect(as(mine.id, (tx) => tx('api_schemas').where({ id }).delete())).rejects.toThrow(immutable);
    await expect(org.admin('api_schemas').where({ id }).delete()).rejects.toThrow(immutable);
    await expect(as(mine.id, (tx) => tx.raw('truncate api_schemas'))).rejects.toThrow(/permission denied/);
    const doomed = await makeOrganization(org.ctx);
    await publish('v1', doomed);
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
    const last = await as(mine.id, (tx) => tx('sync_runs').first<{ id: string }>('id'));
    const [organization_id, at] = [mine.id, '2020-01-01'];
    await as(mine.id, async (tx) => {
      await tx.raw(
        `insert into sync_runs (id, organization_id, sync_config_id, record_type, mode, trigger, status, queued_at, finished_at)
         select ?, organization_id, sync_config_id, record_type, mode, trigger, 'failed', ?, ? from sync_runs`,
        [createId(), at, at],
      );
      await tx('sync_run_events').insert({
        organization_id,
        run_id: last.id,
        level: 'info',
        message: 'old',
        at,
      });
      await tx.raw(
        `insert into idempotency_keys (organization_id, credential_id, route_id, key, request_hash, created_at)
         select organization_id, credential_id, route_id, 'old', request_hash, ? from idempotency_keys`,
        [at],
      );
      await tx('rate_limits').insert({ key: 'old', hits: 1, resets_at: '2020-01-01' });
      await tx('rate_limits').insert({ key: 'new', hits: 1, resets_at: new Date(Date.now() + 60_000) });
    });
    await service.raw('select prune_expired()');
    const counts = await rows<{ counts: number[] }>(
      `select array[(select count(*) from sync_runs), (select count(*) from sync_run_events), (select count(*) from idempotency_keys), (select count(*) from rate_limits where key in ('old', 'new'))]::int[] as counts`,
    );
    expect(counts[0]?.counts).toEqual([1, 1, 1, 1]);
  });
});
