// What the overview summarizes: syncs in each state, a connection, keys and their usage, payments.
import { createId } from '../../../src/core/id.ts';
import type { Tx } from '../../../src/db/transaction.ts';
import type { OrganizationSite } from '../../setup/use-organization.ts';

export function createSeeds(org: OrganizationSite) {
  const ago = (tx: Tx, minutes: number) => tx.raw("now() - ? * interval '1 minute'", [minutes]);
  const later = (tx: Tx, days: number) => tx.raw("now() + ? * interval '1 day' + interval '1 hour'", [days]);
  // Runs that earlier releases stored name the sync as `{id}`.
  const problem = {
    code: 'ERP_DOWN',
    message: 'The ERP does not respond',
    fix: 'See POST /sync-configs/{id}/trigger',
  };

  async function insertSync(tx: Tx, name: string, more: object = {}): Promise<string> {
    const id = createId();
    const shape = { mode: 'incremental', deletions: 'reconcile', record_type: name.toLowerCase() };
    await tx('sync_configs').insert({ id, organization_id: org.id, name, ...shape, ...more });
    return id;
  }

  type Run = { status: string; minutesAgo: number; error?: object; scheduled?: boolean; percent?: number };
  async function insertRun(
    tx: Tx,
    syncConfigId: string,
    { status, minutesAgo, error, scheduled = false, percent }: Run,
  ): Promise<string> {
    const id = createId();
    const hasEnded = ['succeeded', 'partial', 'failed', 'cancelled'].includes(status);
    const at = ago(tx, minutesAgo);
    const progress = { phase: 'reading', fetched: 1, expected: 2, pages: 1, percent };
    await tx('sync_runs').insert({
      ...{
        id,
        organization_id: org.id,
        sync_config_id: syncConfigId,
        record_type: 'x',
        mode: 'full',
        status,
      },
      ...{ trigger: scheduled ? 'schedule' : 'manual', scheduled_for: scheduled ? at : null },
      ...{ queued_at: at, started_at: at, finished_at: hasEnded ? ago(tx, minutesAgo - 0.5) : null },
      error: error === undefined ? null : JSON.stringify(error),
      progress: percent === undefined ? null : JSON.stringify(progress),
    });
    return id;
  }

  const proposalId = createId();
  const schedule = { schedule: '*/5 * * * *' };
  const ids: Record<string, string> = {};

  async function seedSyncs(tx: Tx): Promise<void> {
    const make = async (name: string, more: object, ...runs: readonly Run[]): Promise<void> => {
      ids[name] = await insertSync(tx, name, more);
      for (const run of runs) ids[`${name} run`] = await insertRun(tx, ids[name], run);
    };
    await make(
      'Customers',
      {},
      { status: 'succeeded', minutesAgo: 90 },
      { status: 'failed', minutesAgo: 10, error: problem },
      { status: 'cancelled', minutesAgo: 5 },
    );
    await make('Vendors', { paused_reason: JSON.stringify(problem) });
    await make('Items', { paused_reason: JSON.stringify(problem) });
    await make(
      'Invoice',
      {},
      { status: 'partial', minutesAgo: 3, error: { ...problem, code: 'HELD', message: 'Held' } },
    );
    await make(
      'Orders',
      schedule,
      { status: 'succeeded', minutesAgo: 500 },
      { status: 'waiting', minutesAgo: 300, scheduled: true },
    );
    await make('Bills', {});
    await make(
      'Contacts',
      {},
      { status: 'succeeded', minutesAgo: 20 },
      { status: 'running', minutesAgo: 1, percent: 40 },
    );
    await make('Accounts', schedule, { status: 'succeeded', minutesAgo: 20 });
    await make(
      'Subsidiaries',
      { enabled: false, freshness_target: 90, ...schedule },
      { status: 'failed', minutesAgo: 20, error: problem },
    );
    const stale = { sync_config_id: ids['Subsidiaries'], stale_since: ago(tx, 10) };
    await tx('sync_alerts').insert({ organization_id: org.id, ...stale });
  }

  async function seedRest(tx: Tx): Promise<void> {
    const own = { organization_id: org.id };
    const authentication = { method: 'oauth2', clientId: 'c' };
    await tx('erp_connections').insert({
      ...{ ...own, kind: 'netsuite', account_id: '123_SB1', status: 'failed' },
      ...{ last_error: 'Invalid login', last_tested_at: ago(tx, 60) },
      settings: JSON.stringify({ accountId: '123_SB1', baseUrl: null, authentication }),
    });
    const pem = { certificate_id: 'x', certificate_pem: 'x', private_key: 'x' };
    await tx('erp_certificates').insert({ ...own, ...pem, slot: 1, active: true, not_after: later(tx, 5) });
    const domain = { hostname: 'portal.example.com', status: 'failed', verification_value: 'x' };
    await tx('domains').insert({ ...own, id: createId(), ...domain });
    const endpoint = {
      ...{ ...own, events: ['sync.failed'], api_key_id: org.owner.keyId, secret: 'x', enabled: true },
      ...{ description: '', resources: [], include: 'none', signature: 'v1' },
    };
    await tx('webhook_endpoints').insert([
      { ...endpoint, id: createId(), url: 'https://late.example/x', failing_since: ago(tx, 61) },
      { ...endpoint, id: createId(), url: 'https://new.example/x', failing_since: ago(tx, 59) },
      { ...endpoint, id: createId(), url: 'https://off.example/x', enabled: false },
      {
        ...{ ...endpoint, id: createId(), url: 'https://gone.example/x' },
        ...{ enabled: false, disabled_reason: 'gone' },
      },
    ]);
    const key = { ...own, prefix: 'psk_', created_by: org.owner.id };
    const createKey = (name: string, more: object) => ({
      ...{ ...key, id: createId(), name, secret_hash: Buffer.from(name), ...more },
    });
    await tx('api_keys').insert(createKey('Shop', { expires_at: later(tx, 3) }));
    await tx('api_keys').insert(createKey('Old', { created_at: ago(tx, 60 * 24 * 50) }));
    await tx('api_keys').insert(createKey('Gone', { revoked_at: ago(tx, 10) }));
    const used = (daysAgo: number, counts: object) => ({
      ...{ ...own, api_key_id: org.owner.keyId, version: 'v1', resource: 'invoices' },
      day: tx.raw(`(now() at time zone 'UTC')::date - ${daysAgo}`),
      ...counts,
    });
    await tx('api_key_usage').insert([
      used(0, { succeeded: 5, refused: 2 }),
      used(6, { not_modified: 7, failed: 1 }),
      used(7, { succeeded: 100 }),
    ]);
  }

  async function seedPayments(tx: Tx): Promise<void> {
    const own = { organization_id: org.id };
    const account = createId();
    await tx('pay_accounts').insert({ ...own, id: account, provider: 'sandbox' });
    const currency = { account_id: account, currency: 'GBP' };
    const config = { enabled: true, invoices: '{}', write_back: 'true' };
    await tx('pay_configs').insert({ ...own, ...currency, ...config });
    const pay = async (more: object): Promise<string> => {
      const id = createId();
      const payment = { ...own, ...currency, id, customer_id: '1', amount_minor: 100 };
      await tx('pay_payments').insert({ ...payment, ...more });
      return id;
    };
    const paid = { status: 'SUCCEEDED', received_minor: 100, succeeded_at: ago(tx, 200) };
    const write = (paymentId: string, more: object) => {
      const document = { ...own, id: createId(), payment_id: paymentId, external_id: createId() };
      return tx('pay_erp_documents').insert({ ...document, kind: 'payment', ...more });
    };
    await write(await pay(paid), { status: 'FAILED' });
    ids['waiting payment'] = await pay(paid);
    await write(ids['waiting payment'], { status: 'PENDING', created_at: ago(tx, 100) });
    await write(await pay(paid), { status: 'PENDING' });
    const returns = { success_url: 'https://x.example', cancel_url: 'https://x.example' };
    const checkout = { ...own, ...returns, id: createId(), payment_id: await pay({}), title: 'x' };
    await tx('pay_checkouts').insert({ ...checkout, expires_at: ago(tx, 100) });
  }
  return { problem, proposalId, ids, seedSyncs, seedRest, seedPayments };
}
