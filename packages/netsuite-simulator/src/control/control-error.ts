// Errors of the control interface: `{"error": {"code", "message", "details"?: [{"path", "message"}]}}`.

export type ErrorDetail = { path: string; message: string };
const CODES: Record<number, string> = {
  400: 'MALFORMED',
  401: 'UNAUTHORIZED',
  403: 'FORBIDDEN',
  404: 'NOT_FOUND',
  405: 'METHOD_NOT_ALLOWED',
  413: 'TOO_LARGE',
  421: 'MISDIRECTED',
  422: 'INVALID',
};

export class ControlError extends Error {
  readonly status: number;
  readonly details: readonly ErrorDetail[];
  constructor(status: number, message: string, details: readonly ErrorDetail[] = [], options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    this.details = details;
  }

  body(): object {
    const details = this.details.length > 0 ? { details: this.details } : {};
    return { error: { code: CODES[this.status] ?? 'INTERNAL', message: this.message, ...details } };
  }
}

export const notFound = (message: string): ControlError => new ControlError(404, message);

/** 422 for values in the body or in the URL, each with its path. */
export const invalid = (...details: ErrorDetail[]): ControlError =>
  new ControlError(
    422,
    details.map(({ path, message }) => `${path === '' ? 'The body' : path} ${message}.`).join(' '),
    details,
  );
