// The overview: each part from what the tables say, problems in words and numbers, only what the caller may
// see, only their organization.
import { beforeAll, describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import type { Tx } from '../../../src/db/transaction.ts';
import { listUsageDays, readUsage } from '../../../src/platform/overview/overview.store.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { loadInvoices, publishVersion } from '../../public/fixture.ts';
import { pluck } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { createSeeds } from './seeds.ts';

const org = useOrganization();

const { problem, proposalId, ids, seedSyncs, seedRest, seedPayments } = createSeeds(org);

beforeAll(async () => {
  await loadInvoices(org.ctx, org.id, [{ id: 1 }, { id: 2 }]);
  const retired = { status: 'deprecated', sunsetAt: '2026-01-01T00:00:00Z' };
  ids['v1'] = await publishVersion(org.ctx, org.id, retired);
  await publishVersion(org.ctx, org.id, { version: 'v2', status: 'draft' });
  const schema = tenantSchema(org.id);
  const { data } = org.ctx.db;
  const stale = { tranid: { since: '2026-01-01T00:00:00Z', syncedAt: null, reason: 'empty', message: 'x' } };
  await data.query(`update ${schema}.record_state set stale_fields = $1`, [JSON.stringify(stale)]);
  await data.query(
    `insert into ${schema}.deletion_proposals (id, record_type, ids, evidence) values ($1, 'invoice', array['8', '9'], '{}')`,
    [proposalId],
  );
  await data.query(
    `insert into ${schema}.rejections (record_type, id, code, message, run_id) select 'invoice', i::text, 'X', 'x', $1 from generate_series(1, 1200) i`,
    [createId()],
  );
  await org.sql(async (tx) => {
    await seedSyncs(tx);
    await seedRest(tx);
    await seedPayments(tx);
  });
});

const read = (api = org.api) => api('get', '/overview');
type Found = { severity: string; kind: string; title: string; action: string; target: object };

describe('GET /overview', () => {
  it('has the state of each part', async () => {
    const { status, body, text } = await read();
    expect(status, text).toBe(200);
    expect(body.connection).toEqual({
      ...{ configured: true, kind: 'netsuite', accountId: '123_SB1', status: 'failed' },
      ...{ lastTestedAt: expect.any(String), lastError: 'Invalid login' },
      certificate: { slot: 1, notAfter: expect.any(String), daysLeft: 5 },
    });
    expect(body.keys).toEqual({
      ...{ active: 3, expiringIn14Days: 1, unusedFor30Days: 1 },
      ...{ requestsToday: 7, requests7Days: 15, refused7Days: 2, failed7Days: 1, days: expect.any(Array) },
    });
    expect(body.keys.days).toHaveLength(30);
    const day = new Date().toISOString().slice(0, 10);
    expect(body.keys.days.at(-1)).toEqual({ day, requests: 7, unanswered: 2 });
    expect(body.payments).toEqual({
      ...{ enabled: true, failedWriteBacks: 1, unappliedWriteBacks: 0, waitingWriteBacks: 1, unsettled: 1 },
    });
    expect(body.versions).toMatchObject([
      { version: 'v2', status: 'draft', publication: null, callers7Days: 0, requests7Days: 0 },
      {
        ...{ id: ids['v1'], version: 'v1', status: 'deprecated', sunsetAt: '2026-01-01T00:00:00Z' },
        ...{ callers7Days: 1, requests7Days: 12 },
      },
    ]);
    expect(body.setUp).toEqual({
      ...{ connectionTested: false, firstSync: true, firstSucceededSync: true },
      ...{ publishedVersion: true, apiKeyUsed: true },
    });
  });

  it('has the state of each sync, the worst first', async () => {
    const { syncs } = (await read()).body;
    expect(syncs).toMatchObject({
      ...{ total: 9, openRuns: 2 },
      counts: {
        ...{ paused: 2, failing: 1, held: 1, drift: 0, partial: 0, stale: 1 },
        ...{ new: 1, running: 1, ok: 1, disabled: 1 },
      },
    });
    const states = pluck(syncs.configs, 'label', 'state');
    expect(states).toEqual([
      ['Items', 'paused'],
      ['Vendors', 'paused'],
      ['Customers', 'failing'],
      ['Invoice', 'held'],
      ['Orders', 'stale'],
      ['Bills', 'new'],
      ['Contacts', 'running'],
      ['Accounts', 'ok'],
      ['Subsidiaries', 'disabled'],
    ]);
    const of = (label: string) => syncs.configs.find((config: { label: string }) => config.label === label);
    expect(of('Customers')).toMatchObject({
      ...{ lastRun: { status: 'cancelled' }, lastSucceededAt: expect.any(String) },
      ...{ nextRunAt: null, behindSeconds: null },
    });
    expect(of('Customers').problem.fix).toBe(`See POST /sync-configs/${ids['Customers']}/trigger`);
    expect(of('Invoice')).toMatchObject({
      ...{ records: 2, rejectedRecords: 1200, staleFields: ['tranid'], syncedAt: '2026-03-01T08:00:00Z' },
      heldDeletions: { proposalId, count: 2 },
    });
    expect(of('Contacts').lastRun).toMatchObject({ status: 'running', percent: 40, finishedAt: null });
    expect(of('Orders').behindSeconds).toBeGreaterThanOrEqual(300 * 60);
    expect(of('Accounts')).toMatchObject({ problem: null, nextRunAt: expect.stringMatching(/:\d[05]:00Z$/) });
    expect(of('Subsidiaries')).toMatchObject({ problem: null, nextRunAt: null });
  });

  it('says what is wrong in numbers, what to do, and where, the worst first', async () => {
    const { problems, problemCounts } = (await read()).body;
    const shown = pluck(problems, 'severity', 'kind', 'title');
    expect(shown).toEqual([
      ['error', 'connection_failed', 'The connection to the ERP does not work'],
      ['error', 'certificate_expiring', 'The certificate of the ERP connection expires in 5 days'],
      ['error', 'sync_paused', '2 syncs are paused for the same reason'],
      ['error', 'sync_failing', 'Customers failed'],
      ['error', 'sync_stale', 'Orders is 5 hours behind its schedule'],
      ['error', 'sync_stale', 'The data of Subsidiaries are older than 90 minutes'],
      ['error', 'write_back_failed', '1 payment could not be written to the ERP'],
      ['error', 'webhook_failing', 'The webhook to gone.example was disabled'],
      ['warning', 'deletions_held', 'Invoice: 2 deletions wait for approval'],
      ['warning', 'fields_missing', 'Invoice: 1 field is missing in the ERP: tranid'],
      ['warning', 'records_rejected', 'Invoice: 1,200 records could not be stored'],
      [
        'warning',
        'version_past_sunset',
        `v1 is past its sunset and still has 1 caller: 12 requests in 7 days`,
      ],
      ['warning', 'write_back_waiting', '1 payment has waited for the ERP for more than an hour'],
      ['warning', 'payment_unsettled', '1 payment has no outcome yet'],
      ['warning', 'domain_failing', 'The hostname portal.example.com could not be verified'],
      ['warning', 'webhook_failing', 'The webhook to late.example has not been taken for an hour'],
      ['warning', 'key_expiring', 'The API key Shop expires in 3 days'],
      ['warning', 'keys_unused', '1 API key has not been used for 30 days'],
    ]);
    expect(problemCounts).toEqual({ errors: 8, warnings: 10 });
    expect(pluck(problems, 'since', 'detail').slice(0, 5)).toEqual([
      [null, 'Invalid login'],
      [null, null],
      [null, 'The ERP does not respond'],
      [expect.any(String), 'The ERP does not respond'],
      [null, null],
    ]);
    const getTarget = (kind: string) => problems.find((one: Found) => one.kind === kind).target;
    expect(getTarget('sync_paused')).toEqual({ type: 'sync', id: null });
    const [syncConfigId, id] = [ids['Customers'], expect.any(String)];
    expect(getTarget('sync_failing')).toEqual({ type: 'run', id, syncConfigId });
    expect(getTarget('sync_failing').id).not.toBe(ids['Customers run']); // that one was cancelled
    const stale = { id: ids['Orders run'], syncConfigId: ids['Orders'] };
    expect(getTarget('sync_stale')).toEqual({ type: 'run', ...stale });
    const held = { id: proposalId, syncConfigId: ids['Invoice'] };
    expect(getTarget('deletions_held')).toEqual({ type: 'deletion-proposal', ...held });
    expect(getTarget('version_past_sunset')).toEqual({ type: 'version', id: ids['v1'] });
    expect(getTarget('write_back_waiting')).toEqual({ type: 'payment', id: ids['waiting payment'] });
    for (const { action } of problems) expect(action).toMatch(/^[A-Z].*\.$/);
  });

  it('lists a failure that the connection shares with syncs once, unless the caller may not see the connection', async () => {
    const fail = (message: string) =>
      org.admin('erp_connections').where('organization_id', org.id).update({ last_error: message });
    const listKinds = (problems: readonly Found[]) =>
      problems.map(({ kind }) => kind).filter((kind) => /^(connection_f|sync_[pf])/.test(kind));
    await fail(problem.message);
    const { problems, problemCounts } = (await read()).body;
    expect(listKinds(problems)).toEqual(['connection_failed']);
    expect(problems[0].action).toBe(
      'Test the connection: the result names a fix for each problem. 3 syncs wait for it.',
    );
    expect(problemCounts).toEqual({ errors: 6, warnings: 10 });
    const { problems: ofSyncs } = (await read((await org.join(['sync:read'])).api)).body;
    expect(listKinds(ofSyncs)).toEqual(['sync_paused', 'sync_failing']);
    await fail('Invalid login');
  });

  it('leaves out what the caller may not see, and its problems', async () => {
    const parts = { connection: null, syncs: null, versions: null, keys: null };
    const none = { ...parts, payments: null, portal: null };
    const nothing = {
      ...{ connectionTested: null, firstSync: null, firstSucceededSync: null },
      ...{ publishedVersion: null, apiKeyUsed: null },
    };
    const blind = (await read((await org.join(['team:read'])).api)).body;
    const problemCounts = { errors: 0, warnings: 0 };
    expect(blind).toMatchObject({ ...none, setUp: nothing, problems: [], problemCounts });
    const { versions, keys, setUp, problems } = (await read((await org.join(['api-schema:read'])).api)).body;
    expect(versions[1]).toMatchObject({ version: 'v1', callers7Days: null, requests7Days: null });
    expect([keys, setUp, problems]).toEqual([null, { ...nothing, publishedVersion: true }, []]);
    const payer = (await read((await org.join(['payment:read'])).api)).body;
    expect([...new Set(pluck(pluck(payer.problems, 'target'), 'type'))]).toEqual(['payment']);
  });

  it('is empty for a new organization, and has nothing of another one', async () => {
    const other = await org.another();
    const { body } = await read(await other.session(other.owner.id));
    expect(body).toMatchObject({
      problems: [],
      connection: { configured: false, certificate: null },
      syncs: { total: 0, configs: [] },
      versions: [],
      keys: { active: 1, requests7Days: 0 },
      payments: { enabled: false, failedWriteBacks: 0, unsettled: 0 },
      setUp: {
        ...{ connectionTested: false, firstSync: false },
        ...{ firstSucceededSync: false, publishedVersion: false },
      },
    });
  });

  it('reports problems of versions beyond the twenty that it lists', async () => {
    const other = await org.another();
    const own = () => ({ id: createId(), organization_id: other.id, created_by: other.owner.id });
    const dates = { published_at: new Date(), sunset_at: '2026-01-01T00:00:00Z' };
    const live = { bindings: '{}', openapi: '{}', ...dates };
    await other.sql(async (tx) => {
      await tx('api_schemas').insert({ ...own(), ...live, version: 'v1', status: 'deprecated' });
      const publication = JSON.stringify({ status: 'failed' });
      await tx('api_schemas').insert({ ...own(), version: 'v2', status: 'draft', publication });
      for (let number = 3; number < 25; number += 1)
        await tx('api_schemas').insert({ ...own(), version: `v${number}` });
      const day = tx.raw("(now() at time zone 'UTC')::date");
      const use = { version: 'v1', resource: 'invoices', succeeded: 5, day };
      await tx('api_key_usage').insert({ organization_id: other.id, api_key_id: other.owner.keyId, ...use });
    });
    const { versions, problems } = (await read(other.owner.api)).body;
    expect(pluck(versions, 'version')).toEqual(Array.from({ length: 20 }, (_, index) => `v${24 - index}`));
    expect(pluck(problems, 'kind', 'title')).toEqual([
      ['publication_failed', 'v2 could not be published'],
      ['version_past_sunset', 'v1 is past its sunset and still has 1 caller: 5 requests in 7 days'],
    ]);
  });

  it('reads usage by organization and day through an index', async () => {
    const other = await org.another();
    await other.sql(async (tx) => {
      await tx.raw(
        `insert into api_key_usage (organization_id, api_key_id, day, version, resource, succeeded)
         select ?, ?, current_date - i / 50, 'v' || i % 5, 'r' || i % 50, 1 from generate_series(0, 14999) i`,
        [other.id, other.owner.keyId],
      );
      await tx.raw('set local enable_seqscan = off');
      // Explains what the overview runs.
      const plans: string[] = [];
      const raw = async (sql: string, values: string[]) => {
        const { rows } = await tx.raw<{ rows: { 'QUERY PLAN': string }[] }>(`explain ${sql}`, values);
        plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
        return { rows: [] };
      };
      const explaining = { raw } as unknown as Tx;
      await listUsageDays(explaining, other.id);
      await readUsage(explaining, other.id);
      expect(plans).toHaveLength(2);
      for (const plan of plans)
        expect(plan).toMatch(/api_key_usage_organization_id_day_idx[\s\S]*Index Cond: .*day > /);
    });
  });
});
