// A client of the management interface: the demo and the benches set things up as a customer would, with an
// API key.
import { z } from 'zod';

const Detail = z.object({ code: z.string().optional(), message: z.string() });
const Failure = z.object({
  error: z.object({ code: z.string(), message: z.string(), details: z.array(Detail).optional() }),
});

/**
 * One request; resolves to the body, parsed by `response`. Rejects with ManagementApiError for a status other
 * than 2xx.
 */
export type ManagementCall = <T>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  response: z.ZodType<T>,
  body?: object,
) => Promise<T>;

/** The interface responded with an error. `detailCodes` are the codes in `error.details`. */
export class ManagementApiError extends Error {
  override readonly name = 'ManagementApiError';
  readonly status: number;
  readonly detailCodes: readonly string[];
  constructor(status: number, message: string, detailCodes: readonly string[]) {
    super(message);
    this.status = status;
    this.detailCodes = detailCodes;
  }
}

/**
 * Creates a client of the service at `baseUrl`. Its calls reject with ManagementApiError when the interface
 * responds with an error.
 */
export function createManagementClient(baseUrl: string, key: string): ManagementCall {
  return async (method, path, responseSchema, body) => {
    const response = await fetch(`${baseUrl}/api/platform/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    if (!response.ok) {
      const failure = Failure.safeParse(parsed);
      const details = failure.success ? (failure.data.error.details ?? []) : [];
      const reason = failure.success
        ? [failure.data.error.message, ...details.map(({ message }) => message)].join('; ')
        : text;
      throw new ManagementApiError(
        response.status,
        `${method} ${path}: ${response.status} ${reason}`,
        details.flatMap(({ code }) => (code === undefined ? [] : [code])),
      );
    }
    return responseSchema.parse(parsed);
  };
}
