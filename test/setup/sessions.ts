// Calls by a signed-in person; test/setup/organization.ts creates the session.
import type { Express } from 'express';
import { type Api, createApi } from './api.ts';

/** Calls the management interface as a page of the service would: with the cookie and the Origin. */
export function sessionApi(app: Express, token: string, origin: string | null = 'http://127.0.0.1'): Api {
  const api = createApi(app, null);
  const own = { cookie: `portal_session=${token}`, ...(origin !== null && { origin }) };
  return (method, path, body, headers = {}) => api(method, path, body, { ...own, ...headers });
}
