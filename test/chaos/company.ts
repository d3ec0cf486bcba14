// A customer of the service for one seed: created, connected and configured through the management interface.
import { setTimeout as pause } from 'node:timers/promises';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { sqlState } from '../../src/db/pg-errors.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { isFinal } from '../../src/sync/queue/run-state.ts';
import { findOpenRun, findRun, type RunRow } from '../../src/sync/queue/runs.store.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { type Answer, type Api, createApi } from '../setup/api.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import type { Fixture } from './fixture.ts';
import type { Plan, RecordTypeName } from './plan.ts';

export type Company = {
  readonly organizationId: string;
  readonly tenant: TenantCtx;
  readonly schema: string;
  readonly keyId: string;
  readonly secret: string;
  readonly api: Api;
  /** The id of the sync of a record type. */
  configId(recordType: RecordTypeName): string;
  /**
   * The body of a response of the management interface with one of these statuses; requested again while it
   * is 5xx.
   */
  ask(status: number | readonly number[], call: () => Promise<Answer>): Promise<Answer['body']>;
  /** New credentials, as after the old ones were revoked; syncs that were paused by that go on. */
  reconnect(): Promise<void>;
  /**
   * Starts a run, after any that is open, and waits for its end, and for that of a run that was queued after
   * it meanwhile; however often the database becomes unavailable, and again when a failover lost it.
   */
  sync(recordType: RecordTypeName, mode: 'incremental' | 'full'): Promise<RunRow>;
  /** The same, by the id of the sync. */
  syncConfig(configId: string, mode: 'incremental' | 'full'): Promise<RunRow>;
  /** Whether there is such a run, and it has ended: a failover may have lost either. */
  hasEnded(id: string): Promise<boolean>;
  leave(): Promise<void>;
};

const lost = /^(08\w{3}|57P0[123]|E[A-Z]+)$/;
/** Whether the response only reports that the database is unavailable or has just recovered. */
const isAway = (error: unknown): boolean =>
  lost.test(sqlState(error) ?? '') ||
  (error instanceof Error &&
    (error.name === 'KnexTimeoutError' ||
      /Connection terminated|connection error|timeout exceeded when trying/.test(error.message)));

const patienceMs = 90_000;
const pollMs = 30;

/** Retries until the database is available. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (const end = performance.now() + patienceMs; ; ) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error) || performance.now() > end) throw error;
      await pause(pollMs);
    }
  }
}

export async function waitFor<T>(
  what: string,
  look: () => Promise<T | undefined>,
  withinMs = patienceMs,
): Promise<T> {
  for (const end = performance.now() + withinMs; ; ) {
    const found = await patiently(look);
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error(`${what} did not happen`);
    await pause(pollMs);
  }
}

async function ask(status: number | readonly number[], call: () => Promise<Answer>): Promise<Answer['body']> {
  for (const end = performance.now() + patienceMs; ; ) {
    const answer = await call();
    if ([status].flat().includes(answer.status)) return answer.body;
    if (answer.status < 500 || performance.now() > end)
      throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    await pause(pollMs * 4);
  }
}

async function connect({ account, wire }: Fixture, api: Api, signIn: Plan['signIn']): Promise<void> {
  const base = { accountId: account.accountId, baseUrl: wire.url };
  const put = (authentication: object) =>
    ask(200, () => api('put', '/netsuite/connection', { ...base, authentication }));
  if (signIn === 'tba') {
    const { consumerKey, consumerSecret, tokenId, tokenSecret } =
      await account.createTokenCredentials('Portal Service');
    await put({ method: 'tba', consumerKey, consumerSecret, tokenId, tokenSecret });
    return;
  }
  const { clientId } = await account.createIntegration('Portal Service');
  await put({ method: 'oauth2', clientId, certificateId: null });
  const { certificatePem } = await ask(201, () => api('post', '/netsuite/connection/certificate'));
  const { certificateId } = await account.uploadCertificate(clientId, certificatePem);
  await put({ method: 'oauth2', clientId, certificateId });
}

function followRuns(tenant: TenantCtx) {
  const { organizationId } = tenant;
  const find = (id: string): Promise<RunRow | undefined> =>
    inTransaction(tenant, (tx) => findRun(tx, organizationId, id));
  const end = (configId: string, id: string): Promise<RunRow | 'lost'> =>
    waitFor(`the end of a run of the sync ${configId}`, async () => {
      const row = await find(id);
      if (row === undefined) return 'lost';
      return isFinal(row.status) ? row : undefined;
    });
  return {
    find,
    end,
    /** Waits for the end of the runs that are open now; undefined when there is none. */
    async endOpen(configId: string): Promise<RunRow | undefined> {
      for (let last: RunRow | undefined; ; ) {
        const open = await patiently(() =>
          inTransaction(tenant, (tx) => findOpenRun(tx, organizationId, configId)),
        );
        if (open === undefined) return last;
        const ended = await end(configId, open.id);
        last = ended === 'lost' ? last : ended;
      }
    },
  };
}

export async function makeCompany(fixture: Fixture, plan: Plan): Promise<Company> {
  const { id: organizationId } = await makeOrganization(fixture.ctx, { name: `Seed ${plan.seed}` });
  const { id: keyId, secret } = await makeKey(fixture.ctx, organizationId, { permissions: ['write'] });
  const api = createApi(fixture.app, secret);
  const tenant: TenantCtx = { ...fixture.ctx, organizationId };
  await connect(fixture, api, plan.signIn);
  await ask(200, () => api('post', '/netsuite/metadata/refresh'));
  const configs = new Map<RecordTypeName, string>();
  for (const recordType of plan.recordTypes) {
    const made = await ask(201, () =>
      api('post', '/sync-configs', { name: recordType, recordType, deletions: plan.deletions }),
    );
    configs.set(recordType, made.id);
  }
  const schema = tenantSchema(organizationId);
  const configId = (recordType: RecordTypeName): string => configs.get(recordType) ?? '';
  const runs = followRuns(tenant);
  const syncConfig: Company['syncConfig'] = async (id, mode) => {
    for (;;) {
      await runs.endOpen(id);
      const made = await ask(202, () => api('post', `/sync-configs/${id}/trigger`, { mode }));
      const run = await runs.end(id, made.id);
      if (run !== 'lost') return (await runs.endOpen(id)) ?? run;
    }
  };
  return {
    organizationId,
    tenant,
    schema,
    keyId,
    secret,
    api,
    configId,
    ask,
    sync: (recordType, mode) => syncConfig(configId(recordType), mode),
    syncConfig,
    async hasEnded(id) {
      const row = await patiently(() => runs.find(id));
      return row !== undefined && isFinal(row.status);
    },
    async reconnect() {
      await connect(fixture, api, plan.signIn);
      for (const id of configs.values())
        await ask(200, () => api('patch', `/sync-configs/${id}`, { enabled: true }));
    },
    leave: () =>
      patiently(async () => {
        await inTransaction(tenant, (tx) => tx('sync_configs').delete());
        await fixture.ctx.db.control.raw(`drop schema if exists ${schema} cascade`);
      }),
  };
}
