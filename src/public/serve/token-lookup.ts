// Finds the key behind a bearer token that an API key minted, and what the token may do.
import { isDeepStrictEqual } from 'node:util';
import type { Ctx } from '../../core/ctx.ts';
import { createCache } from '../../core/work/cache.ts';
import {
  type FoundApiKey,
  findTokenKey,
  recordApiKeyUse,
  type TokenKey,
  type TokenKeyReference,
} from '../../identity/api-key.store.ts';
import { unauthorized } from '../../identity/principal.ts';
import {
  findStatesOfToken,
  findTokenVerifier,
  mayBeRevoked,
  narrowToToken,
  proveToken,
  type TokenVerifier,
  toKeyReference,
} from '../../identity/record-token.store.ts';
import { claimsOfVerified, type TokenClaims } from '../../identity/record-token.ts';
import { type RunLookup, unauthenticated } from '../load/admission.ts';

export type LookupCtx = Pick<Ctx, 'db' | 'log' | 'clock' | 'settings'>;

export type KeyLookup = {
  /** The valid key of the credential with this hash, while what is known of it is fresh. */
  find(credential: string, hashed: string): FoundApiKey | undefined;
  /** Rejects with 401 when there is none. */
  load(credential: string, hashed: string): Promise<FoundApiKey>;
};

/** About the memory of a public key. */
const verifierBytes = 2_000;
/** About the memory of what is derived from a token: what it may read, and the endpoint narrowed to that. */
const knownTokenBytes = 2_000;
const stateKey = ({ apiKeyId, mark, mintedBy, subject }: TokenKeyReference): string =>
  JSON.stringify([apiKeyId, mark.toString('base64url'), mintedBy, subject]);

/** A key's state as last read; the same object until more than the time of its last use changes. */
type KeyState = TokenKey & { readonly reference: string };
const isSameState = ({ key, ...one }: KeyState, { key: otherKey, ...other }: KeyState): boolean =>
  isDeepStrictEqual(
    { ...one, key: { ...key, useRecorded: true } },
    { ...other, key: { ...otherKey, useRecorded: true } },
  );

/** A verified token and what it may do in this state of its key; undefined when that revoked it. */
type KnownToken = Pick<TokenClaims, 'sub' | 'iat'> & {
  readonly kid: string;
  readonly shared: string;
  state: KeyState;
  key: FoundApiKey | undefined;
};

/** The states of keys, each looked up once for all tokens of its key. */
function createKeyStates(ctx: LookupCtx, runLookup: RunLookup, ms: () => number) {
  const states = createCache<KeyState | undefined>({
    maxBytes: ctx.settings.cacheBytes.lookups,
    ttl: { clock: ctx.clock, ms },
  });
  const read = async (name: string, reference: TokenKeyReference): Promise<KeyState | undefined> => {
    const found = await findTokenKey(ctx, reference);
    if (found === undefined) return undefined;
    recordApiKeyUse(ctx, found.key);
    const [before, state] = [states.findAny(name), { ...found, reference: name }];
    return before !== undefined && isSameState(before, state) ? before : state;
  };
  const load = (organizationId: string, reference: TokenKeyReference): Promise<KeyState | undefined> => {
    const name = stateKey(reference);
    return states.load(name, () => runLookup(organizationId, () => read(name, reference)));
  };
  return {
    /** That of the token's own subject when some tokens of the key were revoked since it was issued. */
    find(token: Pick<KnownToken, 'shared' | 'sub' | 'iat'>, credential: string): KeyState | undefined {
      const shared = states.findFresh(token.shared);
      if (shared === undefined || !mayBeRevoked(shared, token)) return shared;
      return states.findFresh(stateKey(toKeyReference(claimsOfVerified(credential), token.sub)));
    },
    load: (claims: TokenClaims) =>
      findStatesOfToken(claims, (reference) => load(claims.organization, reference)),
  };
}

function createVerifiers(ctx: LookupCtx, runLookup: RunLookup, ms: () => number) {
  const verifiers = createCache<TokenVerifier | undefined>({
    maxBytes: ctx.settings.cacheBytes.lookups,
    countBytes: () => verifierBytes,
    ttl: { clock: ctx.clock, ms },
  });
  return {
    isFresh: (kid: string): boolean => verifiers.findFresh(kid) !== undefined,
    find: (kid: string): Promise<TokenVerifier | undefined> => {
      const owner = verifiers.findAny(kid)?.organizationId ?? unauthenticated;
      return verifiers.load(kid, () => runLookup(owner, () => findTokenVerifier(ctx, kid)));
    },
  };
}

/**
 * Tokens. A signature is verified once, and the tokens of a key share the look-up of its state. What a token
 * may do is derived again only when that state changes, so that many tokens cost little more than one. A
 * refusal isn't cached, since anyone can make up any number of tokens. `load` rejects with 401.
 */
export function createTokenLookup(ctx: LookupCtx, runLookup: RunLookup, ms: () => number): KeyLookup {
  const { tokens: maxBytes } = ctx.settings.cacheBytes;
  /** By hash. */
  const known = createCache<KnownToken>({ maxBytes, countBytes: () => knownTokenBytes });
  const verifiers = createVerifiers(ctx, runLookup, ms);
  const states = createKeyStates(ctx, runLookup, ms);
  const find = (credential: string, hashed: string): FoundApiKey | undefined => {
    const token = known.findAny(hashed);
    if (token === undefined || !verifiers.isFresh(token.kid)) return undefined;
    const state = states.find(token, credential);
    if (state === undefined) return undefined;
    if (token.state !== state) {
      token.key = narrowToToken(state, claimsOfVerified(credential));
      token.state = state;
    }
    return token.key;
  };
  return {
    find,
    async load(credential, hashed) {
      const kid = known.findAny(hashed)?.kid;
      const isKnown = kid !== undefined && (await verifiers.find(kid)) !== undefined;
      const token = isKnown
        ? { kid, claims: claimsOfVerified(credential) }
        : await proveToken(ctx, credential, verifiers.find);
      const found = token && (await states.load(token.claims));
      const key = token && found && narrowToToken(found.state, token.claims);
      if (token === undefined || found === undefined || key === undefined) throw unauthorized();
      const { sub, iat } = token.claims;
      if (known.findAny(hashed) === undefined)
        known.put(hashed, {
          kid: token.kid,
          sub,
          iat,
          shared: found.shared.reference,
          state: found.state,
          key,
        });
      return find(credential, hashed) ?? key;
    },
  };
}
