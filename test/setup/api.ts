// Calls the management interface as a client would: by HTTP, with a key.
import type { Express } from 'express';
import supertest from 'supertest';
import type { Ctx } from '../../src/core/ctx.ts';

export const base = '/api/platform/v1';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head';
export type Answer = supertest.Response;

/** Of an application, or of the server at an address. `api('post', '/api-keys', { name: 'x' }, { 'idempotency-key': 'a' })`; a text is sent as it is, as JSON. */
export function apiOf(app: Express | string, secret: string | null) {
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

/** As a page of the service would call with the cookie of a session. */
export function signedInApi(app: Express, { settings }: Pick<Ctx, 'settings'>, cookie: string): Api {
  const api = apiOf(app, null);
  return (method, path, body, headers = {}) => api(method, path, body, { cookie, origin: new URL(settings.publicUrl).origin, ...headers });
}

/** Codes of the details of an error answer. */
export const codesOf = (answer: Answer): string[] => (answer.body.error?.details ?? []).map(({ code }: { code: string }) => code);
