// Which failures of PostgreSQL a read meets, and what the caller gets for them.
import { DatabaseError } from 'pg';
import { AppError, unavailable } from '../../../core/errors.ts';
import { isConnectionLost as saysConnectionLost } from '../../../db/driver/error-messages.ts';
import { sqlState } from '../../../db/pg-errors.ts';

const undefinedObject = /^(42P01|3F000|42703|42883)$/;
const connectionLost = /^(08\w{3}|57P0[123]|ECONNRESET|EPIPE|ECONNREFUSED)$/;
/** SQLSTATE of a statement that exceeded its timeout. */
export const queryCanceled = '57014';
const numericOutOfRange = '22003';

/** Whether PostgreSQL lacks a table, schema, column or function that the statement names. */
export const isUndefinedObject = (error: unknown): boolean => undefinedObject.test(sqlState(error) ?? '');

/** Whether a column is missing: the table was replaced, or an older version of this service made it. */
export const isUndefinedColumn = (error: unknown): boolean => sqlState(error) === '42703';

const overflowRoutines = new Set(['float_overflow_error', 'ReportResultError']);

/**
 * Whether a statement failed because its records are too large for one text, see `boundedCount`. Other values
 * out of range come from other routines of PostgreSQL; no column is a float. Citus repeats an error of a node
 * from a routine of its own.
 */
export const isTooLarge = (error: unknown): boolean =>
  error instanceof DatabaseError &&
  error.code === numericOutOfRange &&
  overflowRoutines.has(error.routine ?? '');

/**
 * 503 with Retry-After: the tables of an older version of this service could not be upgraded, usually because
 * they are locked.
 */
export const beingUpgraded = (cause: unknown): AppError =>
  unavailable('The data is being upgraded; try again', 10, cause);

/** 503 with Retry-After: no sync of the resource has been published. */
export const notSynced = (): AppError =>
  unavailable('No sync of this resource has been published yet; try again later', 30);

/** 503 with Retry-After: the ERP doesn't deliver a field that the caller's row scope names. */
export function scopeFieldStale(completeAt: string | null): AppError {
  const message =
    'The ERP does not deliver a field that your row scope names at the moment, so it is unknown which records are within it';
  return new AppError('INTERNAL_ERROR', message, {
    status: 503,
    headers: { 'Retry-After': '60' },
    details: [{ path: '', code: 'scope_field_stale', message }],
    completeAt,
  });
}

/** 503 with Retry-After: every attempt found that the table had been replaced meanwhile. */
export const beingReplaced = (cause?: unknown): AppError =>
  unavailable('The data is being replaced; try again', 30, cause);

export const isConnectionLost = (error: unknown): boolean =>
  connectionLost.test(sqlState(error) ?? '') || (error instanceof Error && saysConnectionLost(error.message));

/** 503 with Retry-After: the read took longer than it may. */
export const timedOut = (cause?: unknown): AppError =>
  unavailable('The read exceeded its time limit. Narrow the filter or sort by another field.', 5, cause);

/** A login that has lost the role of the service: see ForeignRole. */
const insufficientPrivilege = '42501';

/** Converts timeouts, lost connections and a missing role into a 503; returns other errors unchanged. */
export function asUnavailable(error: unknown): unknown {
  if (sqlState(error) === queryCanceled) return timedOut(error);
  return isConnectionLost(error) || sqlState(error) === insufficientPrivilege
    ? unavailable('The database is temporarily unavailable; try again', 2, error)
    : error;
}

/** Runs again, once, when the connection was lost. Rejects with the error of `run`. */
export async function withOneRetry<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!isConnectionLost(error)) throw error;
    return run();
  }
}
