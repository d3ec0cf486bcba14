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
