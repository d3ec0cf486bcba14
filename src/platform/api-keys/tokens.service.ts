// Tokens of API keys: each reads at most what its key reads then, and ends with the secret that minted it.
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, type ErrorDetail, invalid, notFound } from '../../core/errors.ts';
import { createId } from '../../core/id.ts';
import {
  type AccessLayer,
  allowsField,
  allowsResource,
  allowsVersion,
  type RecordAccess,
} from '../../core/record-access.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { secretMark } from '../../identity/api-key.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { getTokenSigner } from '../../identity/record-token.store.ts';
import { maxTokenLength, signToken } from '../../identity/record-token.ts';
import { assertNotTransferredKey } from '../grant.ts';
import { toLayer } from './api-keys.service.ts';
import { findApiKeyRow } from './api-keys.store.ts';
import { assertResolved, resolveScopes } from './resolve-scopes.ts';
import type { MintedTokens, NewTokens } from './tokens.schemas.ts';
import { readClockMs, readSecretHash, revokeSubject } from './tokens.store.ts';

type NewToken = NewTokens['tokens'][number];

/** The key as its tokens need it. */
type Minter = {
  readonly layer: AccessLayer;
  readonly unmasked: boolean;
  /** Of the secret with which the tokens end. */
  readonly mark: string;
  /** The person with whose membership the tokens end; null for the key itself. */
  readonly mintedBy: string | null;
  /** When that secret ends. */
  readonly endsAt: Date | null;
};

/** Throws 404 for an unknown key, 403 `handed_over`, 422 for a revoked or expired key. */
async function getMinter(tx: Tx, ctx: RequestCtx, id: string): Promise<Minter> {
  const { credential, reads, expiresAt, user } = ctx.principal;
  const [own] = reads.layers;
  if (credential.id === id && credential.secretMark !== undefined && own !== undefined)
    return {
      layer: own,
      unmasked: reads.unmasked,
      mark: credential.secretMark,
      mintedBy: null,
      endsAt: expiresAt,
    };
  assertNotTransferredKey(ctx);
  const row = await findApiKeyRow(tx, ctx.organizationId, id);
  const hash = await readSecretHash(tx, ctx.organizationId, id);
  if (row === undefined || hash === undefined) throw notFound('API key');
  if (row.status !== 'active')
    throw invalid(`The key is ${row.status}`, [
      { path: '', code: row.status, message: 'Tokens end with their key. Use an active one.' },
    ]);
  const ends = [row.expires_at, row.secret_ends_at, expiresAt].flatMap((at) => at?.getTime() ?? []);
  return {
    layer: toLayer(row),
    unmasked: row.scope_unmasked && reads.unmasked,
    mark: secretMark(hash).toString('base64url'),
    mintedBy: user.id,
    endsAt: ends.length === 0 ? null : new Date(Math.min(...ends)),
  };
}

/** What the scopes name although the key may not read it, whether or not it exists. */
function beyondKey({ scopes }: NewToken, path: string, access: RecordAccess): ErrorDetail[] {
  const problem = (at: string, name: string): ErrorDetail => ({
    path: `${path}.${at}`,
    code: 'beyond_key',
    message: `The key may not read ${name}`,
  });
  const isHidden = (resource: string, field: string) =>
    field !== 'id' && !allowsField(access, resource, field);
  const rows = Object.entries(scopes.rows ?? {}).filter(([name]) => name !== '*');
  const fields = Object.entries(scopes.fields ?? {});
  return [
    ...scopes.versions
      .filter((name) => !allowsVersion(access, name))
      .map((name) => problem('versions', name)),
    ...scopes.resources
      .filter((name) => !allowsResource(access, name))
      .map((name) => problem('resources', name)),
    ...rows.filter(([name]) => !allowsResource(access, name)).map(([name]) => problem(`rows.${name}`, name)),
    ...fields
      .filter(([name]) => !allowsResource(access, name))
      .map(([name]) => problem(`fields.${name}`, name)),
    ...rows.flatMap(([name, conditions]) =>
      conditions.flatMap(({ field }, index) =>
        isHidden(name, field) ? [problem(`rows.${name}[${index}].field`, field)] : [],
      ),
    ),
    ...fields.flatMap(([name, listed]) =>
      listed.filter((field) => isHidden(name, field)).map((field) => problem(`fields.${name}`, field)),
    ),
  ];
}

const toScopesPath = (index: number): string => `tokens[${index}].scopes`;

/** Throws 403 `escalation` for unmasked reading that key or person lacks, 422 for scopes that don't fit. */
async function resolveTokens(
  tx: Tx,
  ctx: RequestCtx,
  { layer, unmasked }: Minter,
  tokens: readonly NewToken[],
): Promise<AccessLayer[]> {
  const at = tokens.findIndex(({ scopes }) => scopes.unmasked && !unmasked);
  if (at >= 0) {
    const message = 'The key and you must both read masked fields as they are';
    throw new AppError('FORBIDDEN', 'You cannot grant what you do not hold', {
      details: [{ path: `${toScopesPath(at)}.unmasked`, code: 'escalation', message }],
    });
  }
  const beyond = tokens.flatMap((token, index) =>
    beyondKey(token, toScopesPath(index), { layers: [layer], unmasked }),
  );
  if (beyond.length > 0) throw invalid('A token can read at most what its key reads', beyond.slice(0, 100));
  const given = tokens.map(({ scopes }, index) => ({
    // A name means what it means in the versions that the key reads.
    scopes: { ...scopes, versions: scopes.versions.length > 0 ? scopes.versions : [...layer.versions] },
    path: toScopesPath(index),
    before: layer,
    within: layer,
  }));
  const resolved = await resolveScopes(tx, ctx.organizationId, given);
  assertResolved(resolved.flatMap(({ problems }) => problems).slice(0, 100));
  return resolved.map((one, index) => ({ ...one.layer, versions: tokens[index]?.scopes.versions ?? [] }));
}

/**
 * Mints tokens for the key itself, or for a person who may update it. Throws 404, 403 `escalation` or
 * `handed_over`, 422 for a revoked or expired key, scopes that don't fit, a token of over 6,000 characters.
 */
export const mintTokens = (ctx: RequestCtx, keyId: string, { tokens }: NewTokens): Promise<MintedTokens> =>
  inTransaction(ctx, async (tx) => {
    const minter = await getMinter(tx, ctx, keyId);
    const { mark, mintedBy, endsAt } = minter;
    const layers = await resolveTokens(tx, ctx, minter, tokens);
    const signer = await getTokenSigner(tx, ctx);
    const nowMs = await readClockMs(tx);
    const minted = tokens.map(({ subject, expiresInSeconds, scopes: { unmasked } }, index) => {
      const scopes = layers[index];
      if (scopes === undefined) throw new Error('the scopes were not resolved');
      const expMs = Math.min(nowMs + expiresInSeconds * 1_000, endsAt?.getTime() ?? Number.POSITIVE_INFINITY);
      const times = { iat: nowMs / 1_000, exp: expMs / 1_000 };
      const whose = { sub: subject ?? '', organization: ctx.organizationId, key: keyId, mark, mintedBy };
      const token = signToken(ctx, signer, { jti: createId(), ...times, ...whose, scopes, unmasked });
      return { token, subject: subject ?? null, expiresAt: instant(new Date(expMs)) };
    });
    const tooLong = minted.flatMap(({ token }, index) =>
      token.length > maxTokenLength ? [toScopesPath(index)] : [],
    );
    if (tooLong.length > 0)
      throw invalid(
        `A token has at most ${maxTokenLength} characters`,
        tooLong.map((path) => ({
          path,
          code: 'too_long',
          message: 'Name fewer values, resources or fields',
        })),
      );
    const subjects = [...new Set(tokens.flatMap(({ subject }) => subject ?? []))];
    const changes = { tokens: tokens.length, subjects };
    await writeAudit(tx, ctx, 'api-key.mint-tokens', ['api-key', keyId], changes);
    return { tokens: minted };
  });

/** The subject's tokens stop working everywhere within a second; those minted later work. Throws 404. */
export const revokeTokens = (ctx: RequestCtx, keyId: string, subject: string): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    if ((await findApiKeyRow(tx, ctx.organizationId, keyId)) === undefined) throw notFound('API key');
    await revokeSubject(tx, ctx.organizationId, keyId, subject);
    await writeAudit(tx, ctx, 'api-key.revoke-tokens', ['api-key', keyId], { subject });
  });
