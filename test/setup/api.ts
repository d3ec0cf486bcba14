// Calls the management interface as a client would: by HTTP, with a key.
import type { Express } from 'express';
import supertest from 'supertest';

export const base = '/api/platform/v1';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head';
export type Answer = supertest.Response;

/** `api('post', '/api-keys', { name: 'x' }, { 'idempotency-key': 'a' })`; a text is sent as it is, as JSON. */
export function apiOf(app: Express, secret: string | null) {
  return (method: Method, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
    const request = supertest(app)
      [method](`${base}${path}`)
      .set({ ...(secret !== null && { authorization: `Bearer ${secret}` }), ...headers });
    if (body === undefined) return request.then((response) => response);
    return request
      .set('content-type', 'application/json')
      .send(typeof body === 'string' ? body : JSON.stringify(body))
      .then((response) => response);
  };
}
export type Api = ReturnType<typeof apiOf>;

/** Codes of the details of an error answer. */
export const codesOf = (answer: Answer): string[] => (answer.body.error?.details ?? []).map(({ code }: { code: string }) => code);
