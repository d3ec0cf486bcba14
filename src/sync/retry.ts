// Decides what a failure means for a run: wait and try again, or end. Pure. Attempts are counted only while nothing moves:
// any page written starts the count anew.
import { ErpError } from '../connectors/connector.ts';
import type { Settings } from '../core/settings.ts';
import { isDiskFull, sqlState } from '../db/pg-errors.ts';

export type RunError = {
  readonly code: string;
  readonly message: string;
  readonly fix: string;
  /** The metadata must be read anew before the next try; not shown to callers. */
  readonly staleMetadata?: true;
  /** The proposal that lists the deletions held back. */
  readonly proposalId?: string;
};

/** Ends a run at once, because another try would end the same way. Nothing of it is published. */
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

/** A proof that failed. */
export class ProofFailed extends RunFailed {
  override readonly name = 'ProofFailed';
}

export type Verdict =
  | { readonly kind: 'wait'; readonly delayMs: number; readonly error: RunError }
  | { readonly kind: 'fail'; readonly error: RunError; readonly pause: boolean };

const patient = new Set(['throttled', 'down', 'answer']);
/** The account no longer is as its metadata says: worth one more try with metadata read anew. */
const staleMetadata = new Set(['COLUMN_UNKNOWN', 'FIELD_NOT_SYNCABLE']);
const isStale = (error: unknown): error is ErpError => error instanceof ErpError && error.kind === 'query' && staleMetadata.has(error.code);

/** A refusal with an SQLSTATE, or a connection that broke or was not to be had. */
function isDatabaseFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (/^([0-9A-Z]{5}|E[A-Z_]+)$/.test(sqlState(error) ?? '')) return true;
  return (
    error.name === 'KnexTimeoutError' ||
    /^(Connection terminated|Client has encountered|timeout exceeded when trying|timeout expired)/.test(error.message)
  );
}

export function describeFailure(error: unknown): RunError {
  if (isStale(error))
    return {
      code: 'METADATA_CHANGED',
      message: error.message,
      fix: 'Nothing: the metadata is read anew before the next try.',
      staleMetadata: true,
    };
  if (error instanceof ErpError || error instanceof RunFailed) return { code: error.code, message: error.message, fix: error.fix };
  if (isDiskFull(error))
    return {
      code: 'DATABASE_FULL',
      message: "The service's own database has no room left",
      fix: 'Give its disk room: the run tries again by itself. If it failed meanwhile, run the sync again.',
    };
  if (isDatabaseFailure(error))
    return {
      code: 'DATABASE',
      message: "The service's own database refused or was away",
      fix: "Nothing to do in the ERP; see the service's log if it does not pass.",
    };
  return { code: 'INTERNAL', message: 'The run ended with an unexpected error', fix: "See the service's log under this run's id." };
}

/** Delay before try n (from 1): base × 3ⁿ⁻¹ up to the maximum, with up to a fifth of jitter either way. */
export function backoffMs(attempt: number, retry: Pick<Settings['sync'], 'retryBaseMs' | 'retryMaxMs'>, random: number): number {
  const plain = Math.min(retry.retryBaseMs * 3 ** (attempt - 1), retry.retryMaxMs);
  return Math.round(plain * (0.8 + 0.4 * random));
}

/** However long the ERP asks to be left alone, it is asked again after this. */
const mostRetryAfterMs = 60 * 60_000;

export function judge(error: unknown, attemptsWithoutProgress: number, retry: Settings['sync'], random: number): Verdict {
  const described = describeFailure(error);
  const hopeless = error instanceof RunFailed || (error instanceof ErpError && !patient.has(error.kind) && !isStale(error));
  if (hopeless || attemptsWithoutProgress >= retry.maxAttempts) {
    return { kind: 'fail', error: described, pause: error instanceof ErpError && error.kind === 'credentials' };
  }
  const asked = error instanceof ErpError ? Math.min(error.retryAfterMs ?? 0, mostRetryAfterMs) : 0;
  return { kind: 'wait', error: described, delayMs: Math.max(asked, backoffMs(attemptsWithoutProgress, retry, random)) };
}
