// The identity provider's storage for codes, tokens and sessions: in memory, until they expire or the process
// ends. Clients that registered themselves have a store of their own.
import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { ClientStore } from './client-store.ts';

type StoredEntry = { readonly payload: AdapterPayload; readonly expiresAtMs: number };

/**
 * Models that are deleted when their grant is revoked: those that give access. An interaction in progress
 * names its grant too, but is only a step of a sign-in, so it is kept.
 */
const revokedWithGrant = /^(AccessToken|AuthorizationCode|RefreshToken):/;

/** Creates one store for all of the provider's models. `nowMs` is a monotonic clock. */
export function createMemoryAdapter(nowMs: () => number, clients: ClientStore): (model: string) => Adapter {
  const store = new Map<string, StoredEntry>();

  function find(key: string): AdapterPayload | undefined {
    const entry = store.get(key);
    if (entry === undefined || entry.expiresAtMs > nowMs()) return entry?.payload;
    store.delete(key);
    return undefined;
  }

  function deleteExpired(): void {
    for (const [key, { expiresAtMs }] of store) if (expiresAtMs <= nowMs()) store.delete(key);
  }

  const findBy = (
    model: string,
    matches: (payload: AdapterPayload) => boolean,
  ): AdapterPayload | undefined => {
    for (const key of store.keys()) {
      const payload = key.startsWith(`${model}:`) ? find(key) : undefined;
      if (payload !== undefined && matches(payload)) return payload;
    }
    return undefined;
  };

  const createAdapter = (model: string): Adapter => ({
    upsert: async (id, payload, expiresInSeconds) => {
      deleteExpired();
      const expiresAtMs =
        expiresInSeconds === undefined ? Number.POSITIVE_INFINITY : nowMs() + expiresInSeconds * 1000;
      store.set(`${model}:${id}`, { payload, expiresAtMs });
    },
    find: async (id) => find(`${model}:${id}`),
    findByUid: async (uid) => findBy(model, (payload) => payload.uid === uid),
    findByUserCode: async (userCode) => findBy(model, (payload) => payload.userCode === userCode),
    consume: async (id) => {
      const payload = find(`${model}:${id}`);
      if (payload !== undefined) payload['consumed'] = true;
    },
    destroy: async (id) => {
      store.delete(`${model}:${id}`);
    },
    revokeByGrantId: async (grantId) => {
      for (const [key, { payload }] of store)
        if (revokedWithGrant.test(key) && payload.grantId === grantId) store.delete(key);
    },
  });
  return (model) =>
    model === 'Client'
      ? { ...createAdapter(model), upsert: clients.save, find: async (id) => clients.find(id) }
      : createAdapter(model);
}
