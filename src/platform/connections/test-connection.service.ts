// Opens connectors of connections, and tests them.

import type { ConnectionProblem, ConnectionReport } from '../../connectors/connector.ts';
import { netsuiteName } from '../../connectors/secret-binding.ts';
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { DecryptionError } from '../../core/secrets/keyring.ts';
import { inTransaction } from '../../db/transaction.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  type ConnectionName,
  type ConnectionVerdict,
  createTenantConnector,
  readConnectionRevision,
  saveConnectionTest,
} from '../../sync/index.ts';
import { getRow, target, typesOf } from './connections.service.ts';
import * as store from './connections.store.ts';

const testTimeoutMs = 30_000;

/** Throws 422 `credentials_unreadable` when no configured encryption key can decrypt the credentials. */
export const getConnector = (ctx: TenantCtx, connection: ConnectionName) =>
  createTenantConnector(ctx, connection).catch((error: unknown) => {
    if (!(error instanceof DecryptionError)) throw error;
    ctx.log.error({ err: error }, 'the credentials of the ERP connection cannot be decrypted');
    const message =
      'The encryption key has changed. Add the former key again next to the new one, or enter the credentials again.';
    throw invalid('The credentials of the connection cannot be decrypted', [
      { path: 'authentication', code: 'credentials_unreadable', message },
    ]);
  });

/** Reports a timeout as a problem with a fix instead of throwing. */
async function runTest(ctx: RequestCtx, name: string, account: string): Promise<ConnectionReport> {
  const connector = await getConnector(ctx, name);
  const signal = AbortSignal.timeout(testTimeoutMs);
  const startedMs = ctx.clock.monotonicMs();
  try {
    return await connector.test(signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    const problem = {
      code: 'TIMEOUT',
      message: `The ERP did not respond within ${testTimeoutMs / 1000} s`,
      fix: 'Check the account id and base URL. If they are right, the ERP or the network is slow; try again later.',
    };
    return {
      ok: false,
      latencyMs: Math.round(ctx.clock.monotonicMs() - startedMs),
      account,
      problems: [problem],
    };
  }
}

/** Whether the sync reads a record type that the problem hides; of a hidden part, such as lines, that one. */
const concerns = ({ recordTypes, fields }: ConnectionProblem, sync: store.EnabledSync): boolean =>
  recordTypes?.includes(sync.record_type) === true &&
  (fields === undefined ||
    sync.fields === null ||
    fields.some((field) => sync.fields?.includes(field) === true));

/** What the report means for this organization: hidden record types matter only where they are synced. */
function toVerdict(
  { ok, problems }: ConnectionReport,
  syncs: readonly store.EnabledSync[],
): ConnectionVerdict {
  if (!ok) return { error: problems[0]?.message ?? 'The connection does not work', unreadable: [] };
  const blocked = problems.filter((problem) => syncs.some((sync) => concerns(problem, sync)));
  const unreadable = syncs
    .filter((sync) => blocked.some((problem) => concerns(problem, sync)))
    .map(({ record_type: type }) => type);
  return { error: blocked[0]?.message ?? null, unreadable };
}

/**
 * `partial`: the connection works, but not for all record types that are synced. Throws 404 without a
 * connection, 422 `credentials_unreadable`. Other failures are reported in `problems`.
 */
export async function testConnection(ctx: RequestCtx, name: string) {
  const { organizationId } = ctx;
  const row = await inTransaction(ctx, (tx) => getRow(tx, organizationId, name));
  const revision = await readConnectionRevision(ctx, name);
  const report = await runTest(ctx, name, row.account_id);
  const ok = await inTransaction(ctx, async (tx) => {
    const syncs = await store.listEnabledSyncs(tx, organizationId, typesOf(row));
    const verdict = toVerdict(report, syncs);
    const isCurrent = await saveConnectionTest(tx, organizationId, revision, verdict);
    // Syncs were paused because the ERP refused the credentials, which it has now accepted.
    if (isCurrent && report.ok) await store.resumeSyncs(tx, organizationId, typesOf(row));
    await writeAudit(tx, ctx, 'erp-connection.test', target, {
      ...(name !== netsuiteName && { name }),
      ok: verdict.error === null,
    });
    return verdict.error === null;
  });
  const problems = report.problems.map(({ code, message, fix, recordTypes }) => ({
    ...{ code, message, fix },
    ...(recordTypes !== undefined && { recordTypes: [...recordTypes] }),
  }));
  return { ...report, ok, partial: report.ok && !ok, problems };
}
