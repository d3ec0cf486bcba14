// Tells the constraint violations apart that mean something to a caller, and connection trouble from everything else.

type PgError = { readonly code: string; readonly constraint?: string };

const asPgError = (error: unknown): PgError | undefined =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'string' ? (error as Error & PgError) : undefined;

export const sqlState = (error: unknown): string | undefined => asPgError(error)?.code;

/** Whether a write was refused by the constraint of that name. */
export const violates = (error: unknown, constraint: string): boolean => {
  const found = asPgError(error);
  return found?.code.startsWith('23') === true && found.constraint === constraint;
};

/** PostgreSQL's codes for "not now": no connection, too many, no room, shutting down, cancelled by a timeout, a lost race for locks. */
const notNow =
  /^(08|53|57)|^(25P03|40001|40P01|55P03)$|^(ECONNREFUSED|ECONNRESET|EPIPE|ENOENT|ETIMEDOUT|EAGAIN|E(HOST|NET)(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN)$/;
/** `timeout expired`: the server took the connection and said nothing. */
const lostConnection =
  /^timeout expired$|timeout exceeded when trying to connect|Timeout acquiring a connection|Connection terminated|connection error and is not queryable/;

/** Whether the database is away, busy or full for the moment: the same may well go through later. */
export const isNotNow = (error: unknown): boolean => {
  const { code } = (error ?? {}) as { code?: unknown };
  return (typeof code === 'string' && notNow.test(code)) || (error instanceof Error && lostConnection.test(error.message));
};

/** No room for what is to be written. PostgreSQL has a code of its own for this only where it notices it first. */
export const isDiskFull = (error: unknown): boolean =>
  sqlState(error) === '53100' ||
  (error instanceof Error && /could not (extend|write)\b.*(No space left|File too large|quota)/is.test(error.message));
