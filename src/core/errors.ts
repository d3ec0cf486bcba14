// The one error type that carries words for a caller, and the one table from its code to an HTTP status.
// `message` and `details` go out; `cause` goes to the log and never leaves the process.
// Anything thrown that is not an AppError is a 500 with no text of its own.

export const errorStatus = {
  BAD_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  VALIDATION_ERROR: 422,
  RATE_LIMIT_EXCEEDED: 429,
  INTERNAL_ERROR: 500,
} as const;

export type ErrorCode = keyof typeof errorStatus;

/** One fine reason: where (a JSON path or parameter name), a stable code, and a sentence. */
export type ErrorDetail = { path: string; code: string; message: string };

type AppErrorOptions = {
  details?: readonly ErrorDetail[];
  cause?: unknown;
  /** Only for the statuses that share a code. */
  status?: 405 | 406 | 408 | 410 | 413 | 415 | 417 | 431 | 503;
  /** Extra response headers, such as Retry-After. */
  headers?: Readonly<Record<string, string>>;
};

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: readonly ErrorDetail[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = options.status ?? errorStatus[code];
    // What a detail may hold besides is its maker's own business.
    this.details = (options.details ?? []).map(({ path, code, message: text }) => ({ path, code, message: text }));
    this.headers = options.headers ?? {};
  }
}

export const notFound = (thing: string): AppError => new AppError('NOT_FOUND', `${thing} not found`);

/** A body that breaks a rule: 422 with at least one detail. */
export const invalid = (message: string, details: readonly ErrorDetail[]): AppError =>
  new AppError('VALIDATION_ERROR', message, { details });

/** Something this service needs is not there for the moment: 503 with Retry-After. */
export const unavailable = (message: string, retryAfterSeconds: number, cause?: unknown): AppError =>
  new AppError('INTERNAL_ERROR', message, {
    status: 503,
    headers: { 'Retry-After': String(retryAfterSeconds) },
    details: [{ path: '', code: 'unavailable', message }],
    cause,
  });

/** The words of any thrown value, for logs and operators. */
export const causeOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
