// Errors as OData services send them: `{"error": {"code", "message"}}`.

export class ODataError extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Readonly<Record<string, string>>;
  constructor(status: number, code: string, message: string, headers: Record<string, string> = {}) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }

  body(): string {
    return JSON.stringify({ error: { code: this.code, message: this.message } });
  }
}

export const badRequest = (message: string): ODataError => new ODataError(400, 'BadRequest', message);
export const notFound = (message: string): ODataError => new ODataError(404, 'NotFound', message);
export const unsupported = (message: string): ODataError => new ODataError(501, 'NotImplemented', message);
