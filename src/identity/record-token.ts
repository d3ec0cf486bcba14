// Tokens that API keys mint to give someone a part of what they read: `pst_` and a JWT (RFC 7519), signed
// with ES256 by a key of the organization. The header must have exactly the form that this file writes, so
// that no token chooses its algorithm. Pure.
import { type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { isId } from '../core/id.ts';
import type { AccessLayer } from '../core/record-access.ts';
import { findJson } from '../core/text/parse-json.ts';

const prefix = 'pst_';
/** Characters of a token: with the other headers it fits into those that servers and proxies accept. */
export const maxTokenLength = 6_000;
export const maxTokenSeconds = 3_600;

/** An ES256 signature has 64 bytes. */
const form = /^pst_([\w-]+)\.([\w-]+)\.([\w-]{86})$/;
/**
 * Order of the curve P-256 (SEC 2, 2.4.2). With `s`, the second number of a signature, `order - s` is valid
 * too: only the lower one counts.
 */
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const secondNumber = (signature: Buffer): bigint => BigInt(`0x${signature.toString('hex', 32)}`);
const isLow = (s: bigint): boolean => s <= order / 2n;
const header = /^\{"alg":"ES256","typ":"pst\+jwt","kid":"([0-9a-f-]{36})"\}$/;
const audience = 'urn:portal-service:records';

const Names = z.array(z.string());
const Conditions = z.array(z.strictObject({ field: z.string(), source: z.string(), in: Names }));
const Rows = z.strictObject({
  resources: z.record(z.string(), z.strictObject({ recordType: z.string(), conditions: Conditions })),
  others: z.boolean(),
});
/** Strict: a limit that a newer version of the service wrote must not be ignored. */
const Claims = z.strictObject({
  iss: z.string(),
  aud: z.literal(audience),
  jti: z.string(),
  /** With milliseconds, by the clock of the database. */
  iat: z.number(),
  exp: z.number(),
  /** Empty for a token without a subject. */
  sub: z.string(),
  organization: z.string().refine(isId),
  key: z.string().refine(isId),
  /** Names the secret that minted the token: `secretMark` in base64url. */
  mark: z.string(),
  /** The person who minted it; null for the key itself. */
  mintedBy: z.string().refine(isId).nullable(),
  scopes: z.strictObject({
    versions: Names,
    resources: Names,
    rows: Rows.nullable(),
    fields: z.record(z.string(), Names).nullable(),
  }),
  unmasked: z.boolean(),
});
export type TokenClaims = Omit<z.output<typeof Claims>, 'scopes'> & { readonly scopes: AccessLayer };
type IssuerCtx = { readonly settings: Pick<Ctx['settings'], 'publicUrl'> };

const toIssuer = ({ settings }: IssuerCtx): string => `${settings.publicUrl}/api/platform/v1`;
const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const encodeHeader = (kid: string): string => encoded({ alg: 'ES256', typ: 'pst+jwt', kid });

/** Whether a bearer credential is meant as such a token; it is then tried as nothing else. */
export const hasTokenPrefix = (credential: string): boolean => credential.startsWith(prefix);

/** In its one form: with the lower second number. */
function computeSignature(signed: string, key: KeyObject): Buffer {
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: 'ieee-p1363' });
  const s = secondNumber(signature);
  if (!isLow(s)) signature.write((order - s).toString(16).padStart(64, '0'), 32, 'hex');
  return signature;
}

/** The token. `signer` is a private P-256 key. */
export function signToken(
  ctx: IssuerCtx,
  signer: { kid: string; key: KeyObject },
  claims: Omit<TokenClaims, 'iss' | 'aud'>,
): string {
  const signed = `${encodeHeader(signer.kid)}.${encoded({ iss: toIssuer(ctx), aud: audience, ...claims })}`;
  return `${prefix}${signed}.${computeSignature(signed, signer.key).toString('base64url')}`;
}

export type UnverifiedToken = {
  /** The id of the signing key. */
  readonly kid: string;
  readonly signed: string;
  readonly payload: string;
  readonly signature: string;
};

/** Undefined for a text of another form. Nothing in the result is proven before `verifyToken`. */
export function parseToken(text: string): UnverifiedToken | undefined {
  if (text.length > maxTokenLength) return undefined;
  const parts = form.exec(text);
  if (parts === null) return undefined;
  const [, first = '', payload = '', signature = ''] = parts;
  const [, kid = ''] = header.exec(Buffer.from(first, 'base64url').toString()) ?? [];
  const bytes = Buffer.from(signature, 'base64url');
  // base64url decodes several spellings to the same bytes.
  const isOneSpelling = bytes.toString('base64url') === signature && isLow(secondNumber(bytes));
  return isId(kid) && encodeHeader(kid) === first && isOneSpelling
    ? { kid, signed: `${first}.${payload}`, payload, signature }
    : undefined;
}

/** The claims of a token whose text `verifyToken` has accepted before. */
export const claimsOfVerified = (text: string): TokenClaims =>
  JSON.parse(Buffer.from(text.split('.')[1] ?? '', 'base64url').toString()) as TokenClaims;

/** The claims; undefined for another signature, issuer or form, and once expired by this process's clock. */
export function verifyToken(
  ctx: IssuerCtx & Pick<Ctx, 'clock'>,
  { signed, payload, signature }: UnverifiedToken,
  key: KeyObject,
): TokenClaims | undefined {
  if (
    !verify(
      'sha256',
      Buffer.from(signed),
      { key, dsaEncoding: 'ieee-p1363' },
      Buffer.from(signature, 'base64url'),
    )
  )
    return undefined;
  const { data } = Claims.safeParse(findJson(Buffer.from(payload, 'base64url').toString()));
  return data !== undefined && data.iss === toIssuer(ctx) && data.exp * 1_000 > ctx.clock.now().getTime()
    ? data
    : undefined;
}
