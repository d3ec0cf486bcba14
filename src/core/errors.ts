// The one error type whose text callers see, and the one table that maps its code to an HTTP status.
// `message` and `details` are sent to the client; `cause` is only logged.
// Anything else that is thrown becomes a 500 with a generic text.

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

/** One problem: where (a JSON path or parameter name), a stable code, and a sentence for people. */
export type ErrorDetail = { path: string; code: string; message: string };

type AppErrorOptions = {
  details?: readonly ErrorDetail[];
  cause?: unknown;
  /** Overrides the code's own status; only for statuses that share a code. */
  status?: 405 | 406 | 408 | 410 | 412 | 413 | 415 | 417 | 431 | 503;
  /** Extra response headers, such as Retry-After. */
  headers?: Readonly<Record<string, string>>;
  /** When the data that are missing were last complete, RFC 3339: pages for visitors say so. */
  completeAt?: string | null;
};

export class AppError extends Error {
  readonly code: ErrorCode;
  readonly status: number;
  readonly details: readonly ErrorDetail[];
  readonly headers: Readonly<Record<string, string>>;
  readonly completeAt: string | null;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.status = options.status ?? errorStatus[code];
    // Callers may pass objects with more properties; only these three are sent.
    this.details = (options.details ?? []).map(({ path, code, message: text }) => ({
      path,
      code,
      message: text,
    }));
    this.headers = options.headers ?? {};
    this.completeAt = options.completeAt ?? null;
  }
}

/** 404; `reason` says what to do when the thing has yet to be set up. */
export const notFound = (thing: string, reason?: Omit<ErrorDetail, 'path'>): AppError =>
  new AppError('NOT_FOUND', `${thing} not found`, {
    details: reason === undefined ? [] : [{ path: '', ...reason }],
  });

/** The value that was looked up. Throws 404 when there is none. */
export function orNotFound<T>(value: T | undefined, thing: string): T {
  if (value === undefined) throw notFound(thing);
  return value;
}

/** 422 for input that breaks a rule; pass at least one detail. */
export const invalid = (message: string, details: readonly ErrorDetail[]): AppError =>
  new AppError('VALIDATION_ERROR', message, { details });

/**
 * 503 with Retry-After and the detail code `unavailable`: something that the service depends on is
 * temporarily unavailable.
 */
export const unavailable = (message: string, retryAfterSeconds: number, cause?: unknown): AppError =>
  new AppError('INTERNAL_ERROR', message, {
    status: 503,
    headers: { 'Retry-After': String(retryAfterSeconds) },
    details: [{ path: '', code: 'unavailable', message }],
    cause,
  });

/** The message of any thrown value, for logs and operators. */
export const errorMessage = (error: unknown) => (error instanceof Error ? error.message : String(error));
