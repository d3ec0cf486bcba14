// Calls by a signed-in person; test/setup/organization.ts creates the session.
import type { Express } from 'express';
import supertest from 'supertest';
import { type Answer, base, type Method } from './api.ts';

/** Calls the management interface as a page of the service would: with the cookie and the Origin. */
export function sessionApi(app: Express, token: string, origin: string | null = 'http://127.0.0.1') {
  return (
    method: Method,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const request = supertest(app)
      [method](`${base}${path}`)
      .set({ cookie: `portal_session=${token}`, ...(origin !== null && { origin }), ...headers });
    if (body === undefined) return request.then((response) => response);
    return request
      .set('content-type', 'application/json')
      .send(JSON.stringify(body))
      .then((response) => response);
  };
}
