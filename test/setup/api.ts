// Calls the management interface as a client would: over HTTP, with an API key.
import type { Express } from 'express';
import supertest from 'supertest';
import type { Ctx } from '../../src/core/ctx.ts';

export const base = '/api/platform/v1';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete' | 'head';
export type Answer = supertest.Response;

/**
 * Calls an application, or the server at a URL: `api('post', '/api-keys', { name: 'x' }, { 'idempotency-key':
 * 'a' })`. A text body is sent unchanged, as JSON.
 */
export function createApi(app: Express | string, secret: string | null) {
  return (
    method: Method,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
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
export type Api = ReturnType<typeof createApi>;

/** Calls as a page of the service would, with the cookie of a session. */
export function signedInApi(app: Express, { settings }: Pick<Ctx, 'settings'>, cookie: string): Api {
  const api = createApi(app, null);
  return (method, path, body, headers = {}) =>
    api(method, path, body, { cookie, origin: new URL(settings.publicUrl).origin, ...headers });
}

/** The codes in the details of an error response. */
export const listCodes = (answer: Answer): string[] =>
  (answer.body.error?.details ?? []).map(({ code }: { code: string }) => code);

/** The problems that an answer names, in an error or in its `problems`: `name too_small`. */
export const listProblems = ({ body }: Answer): string[] =>
  (body.error?.details ?? body.problems ?? []).map(
    ({ path, code }: { path: string; code: string }) => `${path} ${code}`,
  );

/** The ids of a list, in its order. */
export const listIds = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id);

/** One property of each item, or several of each: `pluck(body.changes, 'path', 'breaking')`. */
export const pluck = (items: Answer['body'], ...names: readonly string[]): Answer['body'][] =>
  items.map((item: Answer['body']) =>
    names.length === 1 ? item[names[0] ?? ''] : names.map((name) => item[name]),
  );

/** The status of a refused request and the codes in its details: `[422, 'duplicate']`. */
export async function refusal(asked: Answer | Promise<Answer>): Promise<(number | string)[]> {
  const answer = await asked;
  return [answer.status, ...listCodes(answer)];
}
