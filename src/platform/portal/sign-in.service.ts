// How visitors sign in besides with a mailed code: at an identity provider of the organization's own.
import type { RequestCtx, TenantCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instantOrNull } from '../../http/fields.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { createIdentityProvider } from '../../identity/provider.ts';
import type { OpenIdConnectInput, SignInInput } from './sign-in.schemas.ts';
import * as store from './sign-in.store.ts';

/** Of the page of a portal to which the provider sends visitors back. */
export const callbackPath = '/sign-in/callback';

/** Additional authenticated data of the encrypted secret. */
export const signInBinding = (organizationId: string): string => `${organizationId}/portal-sign-in`;

async function readView(tx: Tx, { organizationId, principal, settings }: RequestCtx) {
  const row = await store.findSignIn(tx, organizationId);
  const hostname = await store.findPrimaryHostname(tx, organizationId);
  const bases = [
    `${settings.publicUrl}/portal/${principal.organization.slug}`,
    ...(hostname === undefined ? [] : [`https://${hostname}`]),
  ];
  return {
    openIdConnect:
      row === undefined
        ? null
        : {
            ...{ issuer: row.issuer, clientId: row.client_id, label: row.label },
            hasClientSecret: row.client_secret !== null,
          },
    callbackUrls: bases.map((base) => `${base}${callbackPath}`),
    updatedAt: instantOrNull(row?.updated_at ?? null),
  };
}

export const getSignIn = (ctx: RequestCtx) => inTransaction(ctx, (tx) => readView(tx, ctx));

/** Reads its metadata. Throws 422 `not_an_issuer`. */
async function assertIssuer(ctx: RequestCtx, { issuer, clientId: id }: OpenIdConnectInput): Promise<void> {
  const client = { issuer, id, secret: null, redirectUri: ctx.settings.publicUrl, fetch: ctx.fetch };
  await createIdentityProvider(ctx, client)
    .start(undefined)
    .catch((cause: unknown) => {
      ctx.log.info({ err: cause }, 'the identity provider of a portal was not accepted');
      const message =
        'Its /.well-known/openid-configuration can not be read, or names another issuer: copy the issuer from there';
      throw invalid('There is no identity provider at this address', [
        { path: 'openIdConnect.issuer', code: 'not_an_issuer', message },
      ]);
    });
}

/** A stored secret is for the issuer and client with which it was entered: it is sent to no other. */
function toSecret(
  { keyring, organizationId }: RequestCtx,
  { issuer, clientId, clientSecret }: OpenIdConnectInput,
  before: store.SignInRow | undefined,
): string | null {
  if (clientSecret === null) return null;
  if (clientSecret !== undefined) return keyring.encrypt(clientSecret, signInBinding(organizationId));
  if (before?.issuer === issuer && before.client_id === clientId) return before.client_secret;
  const message = 'Enter the secret of this client, or null for a client without one';
  throw invalid('The client secret is required', [
    { path: 'openIdConnect.clientSecret', code: 'secret_needed', message },
  ]);
}

async function save(tx: Tx, ctx: RequestCtx, given: OpenIdConnectInput | null) {
  const { organizationId } = ctx;
  if (given === null) {
    await store.deleteSignIn(tx, organizationId);
    return { openIdConnect: null };
  }
  const { issuer, clientId, label } = given;
  const secret = toSecret(ctx, given, await store.findSignIn(tx, organizationId));
  const row = { issuer, client_id: clientId, client_secret: secret, label };
  await store.saveSignIn(tx, organizationId, row);
  return { openIdConnect: { issuer, clientId, label, hasClientSecret: secret !== null } };
}

/**
 * Throws 422 `not_an_issuer` for an issuer whose metadata can't be read, and `secret_needed` when another issuer or
 * client is given without a secret.
 */
export async function putSignIn(ctx: RequestCtx, { openIdConnect }: SignInInput) {
  if (openIdConnect !== null) await assertIssuer(ctx, openIdConnect);
  return inTransaction(ctx, async (tx) => {
    const changes = await save(tx, ctx, openIdConnect);
    await writeAudit(tx, ctx, 'portal.update-sign-in', ['portal-sign-in', null], changes);
    return readView(tx, ctx);
  });
}

export type PortalProvider = {
  readonly issuer: string;
  readonly clientId: string;
  readonly label: string;
  /** Encrypted: see `openClientSecret`. */
  readonly sealedSecret: string | null;
};

/** The provider at which visitors may sign in; undefined without one. */
export async function findPortalProvider(ctx: TenantCtx): Promise<PortalProvider | undefined> {
  const row = await inTransaction(ctx, (tx) => store.findSignIn(tx, ctx.organizationId));
  if (row === undefined) return undefined;
  const { issuer, client_id: clientId, client_secret: sealedSecret } = row;
  return { issuer, clientId, sealedSecret, label: row.label ?? new URL(issuer).host };
}

/** Throws DecryptionError when the encryption key is missing. */
export const openClientSecret = ({ keyring, organizationId }: TenantCtx, { sealedSecret }: PortalProvider) =>
  sealedSecret === null ? null : keyring.decrypt(sealedSecret, signInBinding(organizationId));
