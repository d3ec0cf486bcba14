// Sets the demo's organization up until v1 is served, step by step through the management interface. Each
// step first checks whether it is already done, so that a demo killed at any moment resumes there.
import type { NetsuiteAccount } from 'netsuite-simulator';
import { z } from 'zod';
import type { Ctx } from '../src/core/ctx.ts';
import { inTransaction } from '../src/db/transaction.ts';
import { editProposal, Proposal } from './edit-proposal.ts';
import { ensureJournalLines } from './journal-lines.ts';
import type { ManagementCall } from './management-client.ts';
import { ManagementApiError } from './management-client.ts';
import { pollUntil } from './poll-until.ts';
import type { ProgressDisplay } from './progress.ts';
import { demoRecordTypes, portalRecordTypes } from './schema.ts';

const anything = z.unknown();
const Identified = z.object({ id: z.string() });

const whenNotFound =
  <T>(fallback: T) =>
  (error: unknown): T => {
    if (error instanceof ManagementApiError && error.status === 404) return fallback;
    throw error;
  };

const Connection = z.object({
  baseUrl: z.string().nullable(),
  authentication: z.object({
    clientId: z.string().optional(),
    certificateId: z.string().nullable().optional(),
  }),
  hasCredentials: z.boolean(),
});
const Test = z.object({
  ok: z.boolean(),
  problems: z.array(z.object({ message: z.string(), fix: z.string() })),
});

/** What an administrator can do in the ERP account's set-up pages. */
export type AccountAdministration = Pick<
  NetsuiteAccount,
  'url' | 'accountId' | 'createIntegration' | 'uploadCertificate'
>;

/**
 * Connects the organization to the account by certificate. Creating the integration and uploading the
 * certificate are what an administrator does in the ERP's pages. Throws an Error when the connection test
 * fails, and ManagementApiError.
 */
export async function connectNetsuite(call: ManagementCall, account: AccountAdministration): Promise<void> {
  const existing = await call('GET', '/netsuite/connection', Connection.nullable()).catch(whenNotFound(null));
  const { clientId, certificateId } = existing?.authentication ?? {};
  if (existing?.hasCredentials === true && typeof certificateId === 'string' && clientId !== undefined) {
    if (existing.baseUrl !== account.url) await putConnection(call, account, clientId, certificateId);
    if ((await call('POST', '/netsuite/connection/test', Test)).ok) return;
  }
  const integration = await account.createIntegration('Portal Service');
  await putConnection(call, account, integration.clientId, null);
  const { certificatePem } = await call(
    'POST',
    '/netsuite/connection/certificate',
    z.object({ certificatePem: z.string() }),
  );
  const uploaded = await account.uploadCertificate(integration.clientId, certificatePem);
  await putConnection(call, account, integration.clientId, uploaded.certificateId);
  const tested = await call('POST', '/netsuite/connection/test', Test);
  if (!tested.ok)
    throw new Error(
      `The connection test failed: ${tested.problems.map(({ message, fix }) => `${message} ${fix}`).join(' ')}`,
    );
}

const putConnection = (
  call: ManagementCall,
  account: AccountAdministration,
  clientId: string,
  certificateId: string | null,
) =>
  call('PUT', '/netsuite/connection', anything, {
    accountId: account.accountId,
    baseUrl: account.url,
    authentication: { method: 'oauth2', clientId, certificateId },
  });

/** Reads the account's metadata unless that has been done. Throws ManagementApiError. */
export async function ensureMetadata(call: ManagementCall): Promise<void> {
  const { refreshedAt } = await call(
    'GET',
    '/netsuite/metadata?pageSize=1',
    z.object({ refreshedAt: z.string().nullable() }),
  );
  if (refreshedAt === null) await call('POST', '/netsuite/metadata/refresh', anything);
}

const Config = z.object({
  id: z.string(),
  recordType: z.string(),
  lastRun: z.object({ status: z.string() }).nullable(),
});
const Pagination = z.object({ totalPages: z.number() });

/** All pages of a list. `path` has no query. Throws ManagementApiError. */
export async function readList<T>(call: ManagementCall, path: string, item: z.ZodType<T>): Promise<T[]> {
  const items: T[] = [];
  const Page = z.object({ data: z.array(item), pagination: Pagination });
  for (let page = 1; ; page += 1) {
    const { data, pagination } = await call('GET', `${path}?pageSize=100&page=${page}`, Page);
    items.push(...data);
    if (page >= pagination.totalPages) return items;
  }
}

/** Throws ManagementApiError. */
export const listConfigs = (call: ManagementCall) => readList(call, '/sync-configs', Config);

type WatchedRun = {
  status: string;
  attempt: number;
  progress: { done: number; expected: number | null; estimatedSecondsLeft: number | null } | null;
  error: { message: string; fix: string } | null;
};

async function waitForRun(
  ctx: Ctx,
  organizationId: string,
  runId: string,
  progress: ProgressDisplay,
): Promise<void> {
  await pollUntil(ctx.clock, async () => {
    const run = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
      tx('sync_runs')
        .where({ id: runId })
        .first<WatchedRun | undefined>('status', 'attempt', 'progress', 'error'),
    );
    if (run === undefined) throw new Error('The sync run no longer exists.');
    if (run.progress !== null)
      progress.showPart(run.progress.done, run.progress.expected ?? 0, run.progress.estimatedSecondsLeft);
    if (run.status === 'failed' || run.status === 'cancelled')
      throw new Error(
        `The sync ${run.status === 'failed' ? 'failed' : 'was cancelled'}: ${run.error?.message ?? ''} ${run.error?.fix ?? ''}`,
      );
    return { result: isDone(run.status) ? true : undefined, seen: run };
  });
}

export const isDone = (status: string | undefined): boolean => status === 'succeeded' || status === 'partial';

/**
 * Creates the syncs that are missing (`hasBooks`: also those of the account's payments, refunds and journals), starts those that never succeeded and waits for them; from then on each
 * runs every minute. Throws an Error when a run fails or is cancelled, and ManagementApiError.
 */
export async function syncRecords(
  ctx: Ctx,
  organizationId: string,
  { call, progress, hasBooks }: { call: ManagementCall; progress: ProgressDisplay; hasBooks: boolean },
): Promise<void> {
  if (hasBooks) await ensureJournalLines(call);
  const configs = await listConfigs(call);
  const started: { name: string; runId: string }[] = [];
  for (const { recordType, name } of [...demoRecordTypes, ...(hasBooks ? portalRecordTypes : [])]) {
    const known = configs.find((config) => config.recordType === recordType);
    if (isDone(known?.lastRun?.status) || (await hasSucceededRun(ctx, organizationId, recordType))) continue;
    const config =
      known ??
      (await call('POST', '/sync-configs', Identified, {
        recordType,
        name,
        schedule: '* * * * *',
        timezone: 'Europe/London',
      }));
    started.push({
      name,
      runId: (await call('POST', `/sync-configs/${config.id}/trigger`, Identified, {})).id,
    });
  }
  for (const { name, runId } of started) {
    progress.startStep(`Syncing ${name.toLowerCase()}`);
    await waitForRun(ctx, organizationId, runId, progress);
  }
}

/** The last run may be unfinished although an earlier one succeeded. */
const hasSucceededRun = async (ctx: Ctx, organizationId: string, recordType: string): Promise<boolean> =>
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
  publication: {
    status: string;
    progress: { done: number; total: number };
    problems: { path: string; message: string }[];
  } | null;
};

/** The service's proposal for the demo's record types, edited. */
async function createDraft(call: ManagementCall) {
  const recordTypes = demoRecordTypes.map(({ recordType }) => recordType);
  const proposal = await call('POST', '/api-schema/draft-from', Proposal, { recordTypes });
  return call('POST', '/api-schema', Schema, {
    name: 'Wholesale records',
    endpoints: editProposal(proposal),
  });
}

/**
 * Publishes v1 unless a version is served already. Resolves to the served version's label. Throws an Error
 * when publishing fails.
 */
export async function publishSchema(
  ctx: Ctx,
  organizationId: string,
  call: ManagementCall,
  progress: ProgressDisplay,
): Promise<string> {
  const { data } = await call('GET', '/api-schema', Schemas);
  const live = data.findLast(({ status }) => status === 'published' || status === 'deprecated');
  if (live !== undefined) return live.version;
  progress.startStep('Publishing API schema v1');
  const draft = data.find(({ status }) => status === 'draft') ?? (await createDraft(call));
  await call('POST', `/api-schema/${draft.id}/publish`, anything, { revision: draft.revision }).catch(
    (error: unknown) => {
      // After a kill during publishing, the publication is already running.
      if (
        !(
          error instanceof ManagementApiError &&
          error.status === 422 &&
          error.detailCodes.includes('publishing')
        )
      )
        throw error;
    },
  );
  await pollUntil(ctx.clock, async () => {
    const row = await inTransaction({ db: ctx.db, organizationId }, (tx) =>
      tx('api_schemas').where({ id: draft.id }).first<Publishing | undefined>('status', 'publication'),
    );
    if (row?.publication?.status === 'failed')
      throw new Error(
        `Publishing failed: ${row.publication.problems.map(({ path, message }) => `${path} ${message}`).join('; ')}`,
      );
    if (row?.publication?.status === 'running')
      progress.showPart(row.publication.progress.done, row.publication.progress.total);
    return { result: row?.status === 'published' ? true : undefined, seen: row?.publication };
  });
  return draft.version;
}

/**
 * Lets customers pay open invoices through the sandbox provider, and writes payments back to the account:
 * maps the fields of the ERP's invoices, all of them in pounds. Does nothing when a provider is configured.
 * Throws ManagementApiError.
 */
export async function configurePayments(call: ManagementCall): Promise<void> {
  const { provider } = await call('GET', '/pay/config', z.object({ provider: z.string().nullable() }));
  if (provider !== null) return;
  // The bank account of the simulated account's profiles; without a profile it has no list of accounts and
  // accepts any id.
  const refundAccount = '2';
  const invoices = {
    recordType: 'invoice',
    number: 'tranid',
    amountDue: 'foreignamountunpaid',
    customer: 'entity',
  };
  await call('PUT', '/pay/config', anything, {
    provider: 'sandbox',
    currency: 'GBP',
    invoices,
    writeBack: { account: null, refundAccount },
  });
}

const Agent = z.object({ id: z.string(), status: z.string(), statusReason: z.string().nullable() });

/**
 * Creates an agent on the served version unless there is one. It uses the built-in model, which needs no
 * account with a provider. Resolves to its id. Throws an Error when the agent fails to start.
 */
export async function ensureAgent(
  { clock }: Pick<Ctx, 'clock'>,
  call: ManagementCall,
  version: string,
): Promise<string> {
  const name = 'Records desk';
  const { data } = await call(
    'GET',
    `/agents?q=${encodeURIComponent(name)}`,
    z.object({ data: z.array(Agent) }),
  );
  const [known] = data;
  if (known !== undefined) return known.id;
  const body = {
    name,
    description: 'Answers about customers, items, invoices and credits',
    model: 'offline',
    apiVersion: version,
  };
  const { id } = await call('POST', '/agents', Agent, body);
  await pollUntil(clock, async () => {
    const { status, statusReason } = await call('GET', `/agents/${id}`, Agent);
    if (status === 'failed') throw new Error(`The agent failed: ${statusReason}`);
    return { result: status === 'running' ? true : undefined, seen: status };
  });
  return id;
}
