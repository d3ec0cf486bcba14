// Decides what a failure means for a run: wait and try again, or end. Pure. Attempts are counted only while nothing moves:
// any page written starts the count anew.
import { ErpError } from '../connectors/connector.ts';
import { GuardedFetchError } from '../core/guarded-fetch.ts';
import type { Settings } from '../core/settings.ts';
import { sqlState } from '../db/pg-errors.ts';

export type RunError = { readonly code: string; readonly message: string; readonly fix: string };

/** A proof that failed: the run ends, and nothing of it is published. */
export class ProofFailed extends Error {
  override readonly name = 'ProofFailed';
  readonly code: string;
  readonly fix: string;
  constructor(code: string, message: string, fix: string) {
    super(message);
    this.code = code;
    this.fix = fix;
  }
}

export type Verdict =
  | { readonly kind: 'wait'; readonly delayMs: number; readonly error: RunError }
  | { readonly kind: 'fail'; readonly error: RunError; readonly pause: boolean };

const patient = new Set(['throttled', 'down', 'answer']);
/** The account no longer is as its metadata says: worth one more try with metadata read anew. */
const staleMetadata = new Set(['COLUMN_UNKNOWN', 'FIELD_NOT_SYNCABLE']);
export const metadataChanged = 'METADATA_CHANGED';
const isStale = (error: unknown): error is ErpError => error instanceof ErpError && error.kind === 'query' && staleMetadata.has(error.code);

export function describeFailure(error: unknown): RunError {
  if (isStale(error))
    return { code: metadataChanged, message: error.message, fix: 'Nothing: the metadata is read anew before the next try.' };
  if (error instanceof ErpError || error instanceof ProofFailed) return { code: error.code, message: error.message, fix: error.fix };
  if (error instanceof GuardedFetchError && error.reason === 'refused-address') {
    return {
      code: 'ADDRESS_REFUSED',
      message: error.message,
      fix: "The ERP's host name leads to a private address; correct the connection or allow the host in the configuration.",
    };
  }
  if (sqlState(error) !== undefined)
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

export function judge(error: unknown, attemptsWithoutProgress: number, retry: Settings['sync'], random: number): Verdict {
  const described = describeFailure(error);
  const hopeless = error instanceof ProofFailed || (error instanceof ErpError && !patient.has(error.kind) && !isStale(error));
  if (hopeless || attemptsWithoutProgress >= retry.maxAttempts) {
    return { kind: 'fail', error: described, pause: error instanceof ErpError && error.kind === 'credentials' };
  }
  const asked = error instanceof ErpError ? (error.retryAfterMs ?? 0) : 0;
  return { kind: 'wait', error: described, delayMs: Math.max(asked, backoffMs(attemptsWithoutProgress, retry, random)) };
}
