// API keys of an organization, through the management interface.
import { expect } from 'vitest';
import { type Answer, createApi } from '../../setup/api.ts';
import type { OrganizationSite } from '../../setup/use-organization.ts';

export type MadeKey = { id: string; secret: string; prefix: string; expiresAt: string };

export function createKeyCalls(org: OrganizationSite) {
  return {
    create: async (body: object = {}, api = org.api): Promise<MadeKey> => {
      const answer = await api('post', '/api-keys', { name: 'made', ...body });
      expect(answer.status, answer.text).toBe(201);
      return answer.body;
    },
    read: async (id: string): Promise<Answer['body']> => (await org.api('get', `/api-keys/${id}`)).body,
    patch: (id: string, body: object, api = org.api) => api('patch', `/api-keys/${id}`, body),
    rotate: (id: string, body: object = {}, api = org.api) => api('post', `/api-keys/${id}/rotate`, body),
    revoke: (id: string) => org.api('delete', `/api-keys/${id}`),
    /** Changes stored columns. */
    change: (id: string, columns: object) => org.admin('api_keys').where({ id }).update(columns),
    /** The status of a request with this secret. */
    readStatus: async (secret: string): Promise<number> =>
      (await createApi(org.app, secret)('get', '/whoami')).status,
  };
}
