// Brings the demo's organization to a served v1, step by step through the management interface. Every step first looks whether
// it is already done, so that a demo killed at any moment goes on from there.
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { inTransaction } from '../db/transaction.ts';
import type { Call } from './management-client.ts';
import { RefusedCall } from './management-client.ts';
import type { NetsuiteAccount } from './netsuite/account.ts';
import type { Progress } from './progress.ts';
import { demoEndpoints, demoRecordTypes } from './schema.ts';

const anything = z.unknown();
const Identified = z.object({ id: z.string() });
const pollMs = 100;
const deadlineMs = 10 * 60_000;

const absentIs =
  <T>(fallback: T) =>
  (error: unknown): T => {
    if (error instanceof RefusedCall && error.status === 404) return fallback;
    throw error;
  };

/** Waits for what another part of this process is bringing about, and tells how far it is. */
async function until<T>(look: () => Promise<T | undefined>): Promise<T> {
  const end = performance.now() + deadlineMs;
  for (;;) {
    const found = await look();
    if (found !== undefined) return found;
    if (performance.now() > end) throw new Error('the demo waited too long');
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

const Connection = z.object({
  baseUrl: z.string().nullable(),
  authentication: z.object({ clientId: z.string().optional(), certificateId: z.string().nullable().optional() }),
  hasCredentials: z.boolean(),
});
const Test = z.object({ ok: z.boolean(), problems: z.array(z.object({ message: z.string(), fix: z.string() })) });

/** What an administrator has of the ERP account. */
export type SetUpPages = Pick<NetsuiteAccount, 'url' | 'accountId' | 'createIntegration' | 'uploadCertificate'>;

/** Signs in to the account by a certificate: the integration and the upload are what an administrator does in the ERP's pages. */
export async function connect(call: Call, account: SetUpPages): Promise<void> {
  const held = await call('GET', '/netsuite/connection', Connection.nullable()).catch(absentIs(null));
  const { clientId, certificateId } = held?.authentication ?? {};
  if (held?.hasCredentials === true && typeof certificateId === 'string' && clientId !== undefined) {
    if (held.baseUrl !== account.url) await put(call, account, clientId, certificateId);
    if ((await call('POST', '/netsuite/connection/test', Test)).ok) return;
  }
  const integration = await account.createIntegration('Portal Service');
  await put(call, account, integration.clientId, null);
  const { certificatePem } = await call('POST', '/netsuite/connection/certificate', z.object({ certificatePem: z.string() }));
  const uploaded = await account.uploadCertificate(integration.clientId, certificatePem);
  await put(call, account, integration.clientId, uploaded.certificateId);
  const tested = await call('POST', '/netsuite/connection/test', Test);
  if (!tested.ok)
    throw new Error(`the connection test failed: ${tested.problems.map(({ message, fix }) => `${message} ${fix}`).join(' ')}`);
}

const put = (call: Call, account: SetUpPages, clientId: string, certificateId: string | null) =>
  call('PUT', '/netsuite/connection', anything, {
    accountId: account.accountId,
    baseUrl: account.url,
    authentication: { method: 'oauth2', clientId, certificateId },
  });

export async function readMetadata(call: Call): Promise<void> {
  const known = await call('GET', '/netsuite/metadata', anything).catch(absentIs(null));
  if (known === null) await call('POST', '/netsuite/metadata/refresh', anything);
}

const Configs = z.object({
  data: z.array(z.object({ id: z.string(), recordType: z.string(), lastRun: z.object({ status: z.string() }).nullable() })),
});

type WatchedRun = {
  status: string;
  progress: { fetched: number; expected: number | null } | null;
  error: { message: string; fix: string } | null;
};

async function watchRun(ctx: Ctx, organizationId: string, runId: string, progress: Progress): Promise<void> {
  await until(async () => {
    const run = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
      tx('sync_runs').where({ id: runId }).first<WatchedRun | undefined>('status', 'progress', 'error'),
    );
    if (run === undefined) throw new Error('the sync run is gone');
    if (run.progress !== null) progress.part(run.progress.fetched, run.progress.expected ?? 0);
    if (run.status === 'failed' || run.status === 'cancelled')
      throw new Error(`the sync ${run.status}: ${run.error?.message ?? ''} ${run.error?.fix ?? ''}`);
    return run.status === 'succeeded' || run.status === 'partial' ? true : undefined;
  });
}

const isDone = (status: string | undefined): boolean => status === 'succeeded' || status === 'partial';

/** Starts what was never synced, and waits for it. Every minute a scheduled run looks for changes from then on. */
export async function syncRecords(ctx: Ctx, organizationId: string, call: Call, progress: Progress): Promise<void> {
  const { data: configs } = await call('GET', '/sync-configs', Configs);
  const started: { name: string; runId: string }[] = [];
  for (const { recordType, name } of demoRecordTypes) {
    const known = configs.find((config) => config.recordType === recordType);
    if (isDone(known?.lastRun?.status) || (await hasRecords(ctx, organizationId, recordType))) continue;
    const config =
      known ?? (await call('POST', '/sync-configs', Identified, { recordType, name, schedule: '* * * * *', timezone: 'Europe/London' }));
    started.push({ name, runId: (await call('POST', `/sync-configs/${config.id}/trigger`, Identified, {})).id });
  }
  for (const { name, runId } of started) {
    progress.step(`Syncing ${name.toLowerCase()}`);
    await watchRun(ctx, organizationId, runId, progress);
  }
}

/** A later run may be under way when an earlier one has long filled the table. */
const hasRecords = async (ctx: Ctx, organizationId: string, recordType: string): Promise<boolean> =>
  inTransaction({ db: ctx.db, organizationId }, async (tx) => {
    const done = await tx('sync_runs')
      .where({ organization_id: organizationId, record_type: recordType })
      .whereIn('status', ['succeeded', 'partial'])
      .first('id');
    return done !== undefined;
  });

const Schema = z.object({ id: z.string(), version: z.string(), status: z.string(), revision: z.number() });
const Schemas = z.object({ data: z.array(Schema) });
type Publishing = {
  status: string;
  publication: { status: string; progress: { done: number; total: number }; problems: { path: string; message: string }[] } | null;
};

/** Says the label of the served version. */
export async function publishSchema(ctx: Ctx, organizationId: string, call: Call, progress: Progress): Promise<string> {
  const { data } = await call('GET', '/api-schema', Schemas);
  const live = data.findLast(({ status }) => status === 'published' || status === 'deprecated');
  if (live !== undefined) return live.version;
  progress.step('Publishing API schema v1');
  const draft =
    data.find(({ status }) => status === 'draft') ??
    (await call('POST', '/api-schema', Schema, { name: 'Wholesale records', endpoints: demoEndpoints }));
  await call('POST', `/api-schema/${draft.id}/publish`, anything, { revision: draft.revision }).catch((error: unknown) => {
    // A demo that was killed while publishing finds the publication already going on.
    if (!(error instanceof RefusedCall && error.status === 422 && error.message.includes('being published'))) throw error;
  });
  await until(async () => {
    const row = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
      tx('api_schemas').where({ id: draft.id }).first<Publishing | undefined>('status', 'publication'),
    );
    if (row?.publication?.status === 'failed')
      throw new Error(`publishing failed: ${row.publication.problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`);
    if (row?.publication?.status === 'running') progress.part(row.publication.progress.done, row.publication.progress.total);
    return row?.status === 'published' ? true : undefined;
  });
  return draft.version;
}

/**
 * Lets customers pay open invoices at the sandbox, and brings what they paid into the account: the fields are those of the ERP's invoices,
 * all of them in pounds.
 */
export async function setPayUp(call: Call): Promise<void> {
  const { provider } = await call('GET', '/pay/config', z.object({ provider: z.string().nullable() }));
  if (provider !== null) return;
  // The account takes any id: it has no chart of accounts.
  const refundAccount = '7';
  const invoices = { recordType: 'invoice', number: 'tranid', amountDue: 'foreignamountunpaid', customer: 'entity' };
  await call('PUT', '/pay/config', anything, {
    provider: 'sandbox',
    currency: 'GBP',
    invoices,
    writeBack: { account: null, refundAccount },
  });
}

const Agent = z.object({ id: z.string(), status: z.string(), statusReason: z.string().nullable() });

/** An agent on the served version, answered for by the built-in model, so that it needs no account anywhere. Says its id. */
export async function makeAgent(call: Call, version: string): Promise<string> {
  const name = 'Records desk';
  const { data } = await call('GET', `/agents?q=${encodeURIComponent(name)}`, z.object({ data: z.array(Agent) }));
  const [known] = data;
  if (known !== undefined) return known.id;
  const body = { name, description: 'Answers about customers, items, invoices and credits', model: 'offline', apiVersion: version };
  const { id } = await call('POST', '/agents', Agent, body);
  await until(async () => {
    const { status, statusReason } = await call('GET', `/agents/${id}`, Agent);
    if (status === 'failed') throw new Error(`the agent failed: ${statusReason}`);
    return status === 'running' ? true : undefined;
  });
  return id;
}
