// Classifies PostgreSQL errors: constraint violations that a caller can correct, transient errors, and
// everything else.
import { DatabaseError } from 'pg';
import { connectTimeout, isConnectionLost, isConnectTimeout } from './driver/error-messages.ts';

type PgError = { readonly code: string; readonly constraint?: string };

const asPgError = (error: unknown): PgError | undefined =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'string'
    ? (error as Error & PgError)
    : undefined;

/** The five-character SQLSTATE, or the code of a network error such as ECONNRESET; undefined for others. */
export const sqlState = (error: unknown): string | undefined => asPgError(error)?.code;

/** Whether a write violated the constraint of this name. */
export const violatesConstraint = (error: unknown, constraint: string): boolean => {
  const found = asPgError(error);
  return found?.code.startsWith('23') === true && found.constraint === constraint;
};

/**
 * Transient codes: connection failure, too many connections, disk or memory full, shutdown, timeout,
 * serialization failure, deadlock, and a write on a server that has become a standby, whose connection ends.
 */
const transientCodes =
  /^(08|53|57)|^(25006|25P03|40001|40P01|55P03)$|^(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ETIMEDOUT|EAGAIN|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/;
const isTransientMessage = (message: string) => isConnectTimeout(message) || isConnectionLost(message);

/** Whether the database is temporarily unavailable, overloaded or full, so that a retry may succeed. */
export const isTransientError = (error: unknown): boolean => {
  const { code } = (error ?? {}) as { code?: unknown };
  return (
    (typeof code === 'string' && transientCodes.test(code)) ||
    (error instanceof Error && isTransientMessage(error.message))
  );
};

const unreachableCodes =
  /^(08(000|001|003|006)|ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ETIMEDOUT|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/;
const stoppingCodes = /^57P0[1-3]$/;

/**
 * Whether connections to the server break or can't be opened, also because it is starting or stopping. False
 * when a server that responds refuses something, such as a login or one connection too many, and when all
 * connections of a pool are in use.
 */
export const isUnreachable = (error: unknown): boolean => {
  if (error instanceof DatabaseError) return stoppingCodes.test(error.code ?? '');
  if (unreachableCodes.test(sqlState(error) ?? '')) return true;
  return (
    error instanceof Error && (isConnectionLost(error.message) || error.message === connectTimeout().message)
  );
};

/** Whether an error has an SQLSTATE or a network error's code, or means a broken or failed connection. */
export const isDatabaseFailure = (error: unknown): boolean =>
  /^([0-9A-Z]{5}|E[A-Z_]+)$/.test(sqlState(error) ?? '') ||
  (error instanceof Error && isTransientMessage(error.message));

/** Whether a write failed for lack of disk space, for which PostgreSQL doesn't always use the code 53100. */
export const isDiskFull = (error: unknown): boolean =>
  sqlState(error) === '53100' ||
  (error instanceof Error &&
    /could not (extend|write)\b.*(No space left|File too large|quota)/is.test(error.message));
