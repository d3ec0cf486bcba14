export type ErrorDetail = { readonly path: string; readonly code: string; readonly message: string };

/** The service refused the request. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** Such as `BAD_REQUEST`; `UNKNOWN` when something between client and service answered. */
  readonly code: string;
  /** What is wrong, by parameter. */
  readonly details: readonly ErrorDetail[];
  /** Names the request in the logs of the service. */
  readonly requestId: string | undefined;

  constructor(status: number, body: unknown, requestId: string | null) {
    const error = readError(body);
    super(error?.message ?? `The service answered with status ${status}`);
    this.status = status;
    this.code = error?.code ?? 'UNKNOWN';
    this.details = error?.details ?? [];
    this.requestId = requestId ?? error?.requestId;
  }

  /** Whether one of the details has this code. */
  hasDetail(code: string): boolean {
    return this.details.some((detail) => detail.code === code);
  }
}

type ErrorBody = {
  readonly code: string;
  readonly message: string;
  readonly details?: readonly ErrorDetail[];
  readonly requestId?: string;
};

/** Undefined for what a proxy answers. */
function readError(body: unknown): ErrorBody | undefined {
  const { error } = (body ?? {}) as { readonly error?: Partial<ErrorBody> | null };
  const isOurs = typeof error?.message === 'string' && typeof error.code === 'string';
  return isOurs && Array.isArray(error.details ?? []) ? (error as ErrorBody) : undefined;
}

/** No whole response came, after all attempts. `cause` is the last failure. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}

/** An export broke off, or a walk started again too often, because the records changed. */
export class InterruptedError extends Error {
  override readonly name = 'InterruptedError';
}
