// A link that signs an owner in once, for a service on one's own machine without an identity provider. The
// service prints it at its start; `npm run admin -- sign-in-link` prints another.
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { createId } from '../core/id.ts';
import type { Settings } from '../core/settings.ts';
import { defineSealed } from './sealed.ts';
import { assertFirstUse, type ClientInfo, isUsed, noAccount, startSession } from './sign-in.ts';
import { findFirstOwner, findMailRecipient, type User } from './users.store.ts';

export const linkMinutes = 15;
const links = defineSealed(
  'sign-in-link',
  linkMinutes * 60_000,
  z.object({ id: z.string(), email: z.string() }),
);

/** Only a service that no one else can reach, and that has no other way to sign in for certain. */
export const allowsSignInLinks = ({ signIn, oidc }: Pick<Settings, 'signIn' | 'oidc'>): boolean =>
  signIn.byLink && oidc === null;

/** The link for this user; it works for 15 minutes. */
export const createSignInLink = (ctx: Pick<Ctx, 'keyring' | 'clock' | 'settings'>, { email }: User): string =>
  `${ctx.settings.publicUrl}/auth/link?token=${links.seal(ctx, { id: createId(), email })}`;

/** The first owner of this organization, or of the oldest one, with a link; undefined when there is none. */
export async function createOwnerLink(
  ctx: Pick<Ctx, 'db' | 'keyring' | 'clock' | 'settings'>,
  organizationId: string | null = null,
): Promise<{ readonly email: string; readonly link: string } | undefined> {
  const owner = await findFirstOwner(ctx, organizationId);
  return owner && { email: owner.email, link: createSignInLink(ctx, owner) };
}

const expiredLink = (): AppError =>
  new AppError('BAD_REQUEST', 'This link has expired or was already used', {
    details: [
      { path: 'token', code: 'sign_in_expired', message: 'Print another one: npm run admin -- sign-in-link' },
    ],
  });

function openLink(ctx: Ctx, token: string): { readonly id: string; readonly email: string } {
  const found = links.open(ctx, token);
  if (found === undefined) throw expiredLink();
  return found;
}

/** Whose link it is. Rejects with 400 `sign_in_expired` when it is too old, used, or not of this service. */
export async function readSignInLink(ctx: Ctx, token: string): Promise<string> {
  const { id, email } = openLink(ctx, token);
  if (await isUsed(ctx, id)) throw expiredLink();
  return email;
}

/** Returns the token of a new session; see `startSession`. Rejects with 400 `sign_in_expired` or 403 `no_account`. */
export async function finishWithLink(
  ctx: Ctx,
  token: string,
  sessions: readonly string[],
  client: ClientInfo,
): Promise<string> {
  const { id, email } = openLink(ctx, token);
  await assertFirstUse(ctx, id, expiredLink);
  const found = await findMailRecipient(ctx, email);
  if (found === undefined || found.id === null) throw noAccount();
  return startSession(ctx, { ...found, id: found.id }, sessions, client);
}
