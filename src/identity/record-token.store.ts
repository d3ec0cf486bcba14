// Looks up what makes a token of an API key valid, and creates and replaces organizations' signing keys.
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Ctx, TenantCtx } from '../core/ctx.ts';
import { createId } from '../core/id.ts';
import { DecryptionError } from '../core/secrets/keyring.ts';
import type { Tx } from '../db/transaction.ts';
import { type FoundApiKey, findTokenKey, type TokenKey, type TokenKeyReference } from './api-key.store.ts';
import { parseToken, type TokenClaims, verifyToken } from './record-token.ts';

export type TokenVerifier = { readonly organizationId: string; readonly key: KeyObject };

/** The key that verifies tokens with this id; undefined for none, or one replaced more than an hour ago. */
export async function findTokenVerifier(
  ctx: Pick<Ctx, 'db'>,
  kid: string,
): Promise<TokenVerifier | undefined> {
  const { rows } = await ctx.db.control.raw<{ rows: { organization_id: string; public_key: string }[] }>(
    "select * from find_token_signing_key(?) where replaced_at is null or replaced_at > seen_at - interval '1 hour'",
    [kid],
  );
  const row = rows[0];
  return row && { organizationId: row.organization_id, key: createPublicKey(row.public_key) };
}

/** Which state of the key decides about the token: the tokens of a key share the one without a subject. */
export const toKeyReference = ({ key, mark, mintedBy }: TokenClaims, subject = ''): TokenKeyReference => ({
  apiKeyId: key,
  mark: Buffer.from(mark, 'base64url'),
  mintedBy,
  subject,
});

const wasIssuedBefore = (at: Date | null, { sub, iat }: Pick<TokenClaims, 'sub' | 'iat'>): boolean =>
  sub !== '' && at !== null && at.getTime() >= Math.floor(iat * 1_000);

/** Whether to look up the token's own subject: some tokens of the key were revoked since it was issued. */
export const mayBeRevoked = ({ anyRevokedAt }: TokenKey, claims: Pick<TokenClaims, 'sub' | 'iat'>): boolean =>
  wasIssuedBefore(anyRevokedAt, claims);

/** What a token may do: at most what its key may now, narrowed further. Undefined when no longer valid. */
export function narrowToToken(
  { key, subjectRevokedAt }: TokenKey,
  claims: TokenClaims,
): FoundApiKey | undefined {
  const { sub, scopes, unmasked, exp, organization } = claims;
  if (key.organization.id !== organization || wasIssuedBefore(subjectRevokedAt, claims)) return undefined;
  return {
    ...key,
    access: { layers: [...key.access.layers, scopes], unmasked: key.access.unmasked && unmasked },
    // Without a role it has no permissions.
    role: null,
    scopes: { ...key.scopes, permissions: [] },
    expiresAt: new Date(Math.min(exp * 1_000, key.expiresAt?.getTime() ?? Number.POSITIVE_INFINITY)),
    tokenSubject: sub,
  };
}

/**
 * The state of the token's key that its tokens share, and the one that decides about this token: by its own
 * subject when some tokens of the key were revoked since it was issued. Undefined when `find` finds none.
 */
export async function findStatesOfToken<State extends TokenKey>(
  claims: TokenClaims,
  find: (reference: TokenKeyReference) => Promise<State | undefined>,
): Promise<{ readonly shared: State; readonly state: State } | undefined> {
  const shared = await find(toKeyReference(claims));
  const state =
    shared && mayBeRevoked(shared, claims) ? await find(toKeyReference(claims, claims.sub)) : shared;
  return shared && state && { shared, state };
}

/** As `narrowToToken`, with the key's state as the database has it. */
export async function findKeyOfToken(
  ctx: Pick<Ctx, 'db'>,
  claims: TokenClaims,
): Promise<FoundApiKey | undefined> {
  const found = await findStatesOfToken(claims, (reference) => findTokenKey(ctx, reference));
  return found && narrowToToken(found.state, claims);
}

/**
 * The signing key's id and the claims of a token that was signed by its organization and hasn't expired;
 * undefined for any other text. Whether the key behind it still works is for `findKeyOfToken`.
 */
export async function proveToken(
  ctx: Pick<Ctx, 'db' | 'clock' | 'settings'>,
  text: string,
  findVerifier = (kid: string): Promise<TokenVerifier | undefined> => findTokenVerifier(ctx, kid),
): Promise<{ readonly kid: string; readonly claims: TokenClaims } | undefined> {
  const token = parseToken(text);
  const verifier = token && (await findVerifier(token.kid));
  const claims = token && verifier && verifyToken(ctx, token, verifier.key);
  return token && claims && claims.organization === verifier?.organizationId
    ? { kid: token.kid, claims }
    : undefined;
}

/** The associated data of a stored private key. */
export const tokenSigningKeyBinding = (organizationId: string, kid: string): string =>
  `${organizationId}/token-signing-key/${kid}`;

export type TokenSigner = { readonly kid: string; readonly key: KeyObject };
type SigningCtx = Pick<TenantCtx, 'keyring' | 'organizationId'>;

const maxSignerDays = 30;

/** Undefined when there is none, it is over 30 days old, or the encryption key of its private key is lost. */
async function findSigner(tx: Tx, { keyring, organizationId }: SigningCtx): Promise<TokenSigner | undefined> {
  const row = await tx('token_signing_keys')
    .where('organization_id', organizationId)
    .whereNull('replaced_at')
    .whereRaw('created_at > now() - make_interval(days => ?)', [maxSignerDays])
    .first<{ kid: string; private_key: string } | undefined>('kid', 'private_key');
  if (row === undefined) return undefined;
  try {
    return {
      kid: row.kid,
      key: createPrivateKey(
        keyring.decrypt(row.private_key, tokenSigningKeyBinding(organizationId, row.kid)),
      ),
    };
  } catch (error) {
    if (error instanceof DecryptionError) return undefined;
    throw error;
  }
}

/** The signing key. Makes one on first use, and replaces one that is too old; that verifies one more hour. */
export async function getTokenSigner(tx: Tx, ctx: SigningCtx): Promise<TokenSigner> {
  const { keyring, organizationId } = ctx;
  const current = await findSigner(tx, ctx);
  if (current !== undefined) return current;
  await tx.raw('select pg_advisory_xact_lock(hashtextextended(?, 0))', [
    `token signing key ${organizationId}`,
  ]);
  const made = await findSigner(tx, ctx);
  if (made !== undefined) return made;
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const kid = createId();
  await tx('token_signing_keys')
    .where('organization_id', organizationId)
    .whereNull('replaced_at')
    .update({ replaced_at: tx.raw('clock_timestamp()'), private_key: null });
  await tx('token_signing_keys').insert({
    kid,
    organization_id: organizationId,
    public_key: publicKey.export({ type: 'spki', format: 'pem' }),
    private_key: keyring.encrypt(
      privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      tokenSigningKeyBinding(organizationId, kid),
    ),
  });
  return { kid, key: privateKey };
}
