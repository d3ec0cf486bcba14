// Decides what a failure means for a run: wait and retry, or fail. Pure. Only attempts without progress are
// counted: any page that is written resets the count.
import { ErpError } from '../../connectors/connector.ts';
import type { Settings } from '../../core/settings.ts';
import { isDatabaseFailure, isDiskFull } from '../../db/pg-errors.ts';
import { isNodeUnreachable, TablesPending } from '../../warehouse/tables-pending.ts';

export type RunError = {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** The metadata must be read again before the next attempt; not shown to callers. */
  readonly staleMetadata?: true;
  /** The proposal that lists the held-back deletions. */
  readonly proposalId?: string;
};

/** Fails a run at once, because a retry would end the same way. Nothing of it is published. */
export class RunFailed extends Error {
  override readonly name: string = 'RunFailed';
  readonly code: string;
  readonly fix: string;
  constructor(code: string, message: string, fix: string) {
    super(message);
    this.code = code;
    this.fix = fix;
  }
}

/** No attempt renewed its lease, and none says why: killed perhaps, or cut off from the database. */
export const workerLost = (attempts: number): RunFailed =>
  new RunFailed(
    'WORKER_LOST',
    `The run made no progress in ${attempts} attempts; the process of the last one did not renew its lease`,
    "Check the service's log for the time of this run, and its memory limit: the process was stopped, or could not reach the database. Then run the sync again.",
  );

/** The run's error while another process works on it: the process before is alive and was too busy. */
export const workerBusy = (busyMs: number): RunError => ({
  code: 'WORKER_BUSY',
  message: `The process that worked on the run was too busy to renew its lease in time: it was up to ${Math.ceil(busyMs / 1_000)} seconds late`,
  fix: 'Give the service more CPU time, or let it work on fewer runs at a time (SYNC_WORKERS). The run goes on by itself.',
});

/** As `workerBusy`, once no attempt follows. */
export const failedWhileBusy = (attempts: number, { message }: RunError): RunFailed =>
  new RunFailed(
    'WORKER_BUSY',
    `The run made no progress in ${attempts} attempts. ${message}`,
    'Give the service more CPU time, or let it work on fewer runs at a time (SYNC_WORKERS); then run the sync again.',
  );

/** A proof that failed. */
export class ProofFailed extends RunFailed {
  override readonly name = 'ProofFailed';
}

/**
 * Why the runs of an organization wait that `move-to-citus` has not moved yet. No worker claims them, so
 * their rows have no error.
 */
export const waitsForMove: RunError = {
  code: 'WAREHOUSE_MOVING',
  message: 'The records of this organization are being moved to another server',
  fix: 'No action is needed: the run continues by itself when they have been moved. Until then they are read as they are.',
};

export type RetryDecision =
  /** `isCounted`: whether it counts towards `maxAttemptsWithoutProgress`. */
  | { readonly kind: 'wait'; readonly delayMs: number; readonly error: RunError; readonly isCounted: boolean }
  | { readonly kind: 'fail'; readonly error: RunError; readonly pause: boolean };

const retriedKinds = new Set(['throttled', 'down', 'answer']);
/** The account no longer matches its metadata: worth a retry with metadata that was read again. */
const staleMetadataCodes = new Set(['COLUMN_UNKNOWN', 'FIELD_NOT_SYNCABLE']);
const isStaleMetadata = (error: unknown): error is ErpError =>
  error instanceof ErpError && error.kind === 'query' && staleMetadataCodes.has(error.code);
/** A query may be refused without naming the field, such as one whose type changed: worth one attempt. */
const mayBeStaleMetadata = (error: unknown, attemptsWithoutProgress: number): boolean =>
  error instanceof ErpError &&
  error.kind === 'query' &&
  error.code !== 'HOST_REFUSED' &&
  attemptsWithoutProgress < 2;

const metadataFix = 'No action is needed: the metadata is read again before the next attempt.';

/** The error that administrators see for a failure: code, message and what to do. */
export function describeFailure(error: unknown): RunError {
  if (isStaleMetadata(error))
    return { code: 'METADATA_CHANGED', message: error.message, fix: metadataFix, staleMetadata: true };
  if (error instanceof ErpError || error instanceof RunFailed)
    return { code: error.code, message: error.message, fix: error.fix };
  if (error instanceof TablesPending)
    return {
      code: 'TABLES_PENDING',
      message:
        'The tables of this record type cannot be changed while one of the servers of the warehouse does not respond',
      fix: 'No action is needed: the run continues by itself when the server responds again.',
    };
  if (isNodeUnreachable(error))
    return {
      code: 'WAREHOUSE_SERVER_DOWN',
      message: "The server of the warehouse that holds this organization's records does not respond",
      fix: 'No action is needed: the run continues by itself when the server responds again.',
    };
  if (isDiskFull(error))
    return {
      code: 'DATABASE_FULL',
      message: "The disk of the service's database is full",
      fix: 'Free disk space or enlarge the disk; the run is retried automatically. If it failed in the meantime, run the sync again.',
    };
  if (isDatabaseFailure(error))
    return {
      code: 'DATABASE',
      message: "The service's database was unavailable or rejected a statement",
      fix: "No action is needed in the ERP. If the error persists, check the service's log.",
    };
  return {
    code: 'INTERNAL',
    message: 'The run ended with an unexpected error',
    fix: "Search the service's log for this run's id.",
  };
}

/**
 * Delay before attempt n (from 1): base × 3ⁿ⁻¹ up to the maximum, with up to 20 % of jitter either way.
 * `random` is in [0, 1).
 */
export function backoffMs(
  attempt: number,
  retry: Pick<Settings['sync'], 'retryBaseMs' | 'retryMaxMs'>,
  random: number,
): number {
  const plain = Math.min(retry.retryBaseMs * 3 ** (attempt - 1), retry.retryMaxMs);
  return Math.round(plain * (0.8 + 0.4 * random));
}

/** Once no attempt follows, the advice to wait for the next one is wrong. */
const afterLastAttempt = (error: RunError): RunError =>
  error.staleMetadata === true
    ? {
        ...error,
        fix: 'The ERP refuses a query that its metadata allows. Check that the integration role may view the records and fields that the message names, then run the sync again.',
      }
    : error;

/** The longest `Retry-After` of the ERP that is honoured. */
const maxRetryAfterMs = 60 * 60_000;

/** Wait (for `delayMs`) or fail; `pause` when wrong credentials must pause the configuration. */
export function classifyFailure(
  error: unknown,
  attemptsWithoutProgress: number,
  retry: Settings['sync'],
  random: number,
): RetryDecision {
  const retryAfterMs = error instanceof ErpError ? Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs) : 0;
  const delayMs = Math.max(retryAfterMs, backoffMs(attemptsWithoutProgress, retry, random));
  const described = describeFailure(error);
  // An outage of a server never makes a run fail, however long it lasts.
  if (error instanceof TablesPending || isNodeUnreachable(error))
    return { kind: 'wait', error: described, delayMs: backoffMs(1, retry, random), isCounted: false };
  // The next attempt reads all records, for which no such token is needed.
  if (error instanceof ErpError && error.code === 'CHANGES_EXPIRED')
    return { kind: 'wait', error: described, delayMs, isCounted: true };
  if (!isStaleMetadata(error) && mayBeStaleMetadata(error, attemptsWithoutProgress))
    return {
      kind: 'wait',
      error: { ...described, fix: metadataFix, staleMetadata: true },
      delayMs,
      isCounted: true,
    };
  const isPermanent =
    error instanceof RunFailed ||
    (error instanceof ErpError && !retriedKinds.has(error.kind) && !isStaleMetadata(error));
  if (isPermanent || attemptsWithoutProgress >= retry.maxAttemptsWithoutProgress) {
    return {
      kind: 'fail',
      error: afterLastAttempt(described),
      pause: error instanceof ErpError && error.kind === 'credentials',
    };
  }
  return { kind: 'wait', error: described, delayMs, isCounted: true };
}
