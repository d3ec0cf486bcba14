// What a failed call of the management interface throws.
export type ProblemDetail = { readonly path: string; readonly code: string; readonly message: string };

/** `status` is 0 when no answer came. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly code: string;
  readonly details: readonly ProblemDetail[];
  readonly requestId: string | null;
  constructor(
    status: number,
    body: { code?: string; message?: string; details?: readonly ProblemDetail[]; requestId?: string },
  ) {
    super(body.message ?? `The service answered ${status}`);
    this.status = status;
    this.code = body.code ?? 'UNKNOWN';
    this.details = body.details ?? [];
    this.requestId = body.requestId ?? null;
  }
}

export const toApiError = (error: unknown): ApiError =>
  error instanceof ApiError
    ? error
    : new ApiError(0, { message: 'The service did not answer. Check that it runs, then try again.' });
