// The demo acts as a customer would: through the management interface, with a key.
import { z } from 'zod';

const Failure = z.object({
  error: z.object({ code: z.string(), message: z.string(), details: z.array(z.object({ message: z.string() })).optional() }),
});

export type Call = <T>(
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  answer: z.ZodType<T>,
  body?: object,
) => Promise<T>;

export class RefusedCall extends Error {
  override readonly name = 'RefusedCall';
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function managementClient(baseUrl: string, key: string): Call {
  return async (method, path, answer, body) => {
    const response = await fetch(`${baseUrl}/api/platform/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, ...(body !== undefined && { 'content-type': 'application/json' }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    if (!response.ok) {
      const failure = Failure.safeParse(parsed);
      const words = failure.success
        ? [failure.data.error.message, ...(failure.data.error.details ?? []).map(({ message }) => message)].join('; ')
        : text;
      throw new RefusedCall(response.status, `${method} ${path}: ${response.status} ${words}`);
    }
    return answer.parse(parsed);
  };
}
