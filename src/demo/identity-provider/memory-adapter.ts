// Where the demo's identity provider keeps codes, tokens and sign-ins: in memory, until they end or the process does.
import type { Adapter, AdapterPayload } from 'oidc-provider';

type Held = { readonly payload: AdapterPayload; readonly untilMs: number };

/** What a grant takes along when it is revoked. A sign-in under way names its grant too, and goes on. */
const granted = /^(AccessToken|AuthorizationCode|RefreshToken):/;

/** One store for all of the provider's models; `nowMs` only ever grows. */
export function memoryAdapter(nowMs: () => number): (model: string) => Adapter {
  const store = new Map<string, Held>();

  function find(key: string): AdapterPayload | undefined {
    const held = store.get(key);
    if (held === undefined || held.untilMs > nowMs()) return held?.payload;
    store.delete(key);
    return undefined;
  }

  function dropEnded(): void {
    for (const [key, { untilMs }] of store) if (untilMs <= nowMs()) store.delete(key);
  }

  const findBy = (model: string, matches: (payload: AdapterPayload) => boolean): AdapterPayload | undefined => {
    for (const key of store.keys()) {
      const payload = key.startsWith(`${model}:`) ? find(key) : undefined;
      if (payload !== undefined && matches(payload)) return payload;
    }
    return undefined;
  };

  return (model) => ({
    upsert: async (id, payload, expiresInSeconds) => {
      dropEnded();
      const untilMs = expiresInSeconds === undefined ? Number.POSITIVE_INFINITY : nowMs() + expiresInSeconds * 1000;
      store.set(`${model}:${id}`, { payload, untilMs });
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
      for (const [key, { payload }] of store) if (granted.test(key) && payload.grantId === grantId) store.delete(key);
    },
  });
}
