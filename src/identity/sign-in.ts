// Sign-in and sign-out: who may sign in, and how a session starts and ends. While the browser is at the
// identity provider, it carries the sign-in attempt in an encrypted cookie. The callback is only accepted
// with that cookie, once, and within ten minutes.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Settings } from '../core/settings.ts';
import type { Tx } from '../db/transaction.ts';
import { writeAudit } from './audit.store.ts';
import {
  type IdentityProvider,
  type Profile,
  type Prompt,
  type ProvenIdentity,
  startAgain,
} from './provider.ts';
import { defineSealed } from './sealed.ts';
import {
  bindOrganization,
  deleteSessions,
  type EndedSession,
  findSessions,
  insertSession,
  inUserTransaction,
} from './sessions.store.ts';
import {
  createUser,
  findLinkedUser,
  findMemberships,
  findUserByToken,
  hasInvitation,
  registerRecipient,
  setUserName,
  type User,
} from './users.store.ts';

/** Where a request comes from, for the list of sessions and the audit log. */
export type ClientInfo = {
  readonly ip: string;
  readonly userAgent: string | null;
  readonly requestId: string;
};

/** Whether there is a page on which a person can sign in. */
export const hasSignInPage = ({ oidc, signIn }: Pick<Settings, 'oidc' | 'signIn'>): boolean =>
  oidc?.client != null || signIn.byMail;

export const attemptTtlMs = 600_000;
/** Who signs in: an attempt of one audience counts for no other. */
const members = 'members';
const attempts = defineSealed(
  'sign-in',
  attemptTtlMs,
  z.object({
    ...{ state: z.string(), nonce: z.string(), verifier: z.string(), returnTo: z.string() },
    audience: z.string().default(members),
  }),
);

const invalidReturnTo = (): AppError =>
  new AppError('BAD_REQUEST', 'Invalid query parameters', {
    details: [
      { path: 'returnTo', code: 'foreign_address', message: 'must be a path of this service, such as /' },
    ],
  });

/**
 * The absolute URL to redirect to after sign-in; a path alone could resolve to another host (`/.//host`).
 * Throws 400 `foreign_address` unless `returnTo` is a path of this service.
 */
export function resolveReturnUrl(returnTo: string, publicUrl: string): string {
  const origin = new URL(publicUrl).origin;
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}$/.test(returnTo)) throw invalidReturnTo();
  const url = URL.parse(returnTo, origin);
  if (url === null || url.origin !== origin) throw invalidReturnTo();
  return url.href;
}

/** `returnTo`: where the browser goes afterwards; must be safe. */
type SignInRequest = { readonly returnTo: string; readonly prompt?: Prompt | undefined };

/**
 * Returns the provider's URL to redirect to, and the cookie value that must come back with its response.
 * Rejects with 503 while the provider is unreachable.
 */
export async function startSignIn(
  ctx: Ctx,
  provider: IdentityProvider,
  { returnTo, prompt }: SignInRequest,
  audience = members,
): Promise<{ url: string; cookie: string }> {
  const { attempt, url } = await provider.start(prompt);
  return { url: url.href, cookie: attempts.seal(ctx, { ...attempt, returnTo, audience }) };
}

export const expiredSignIn = (): AppError =>
  new AppError(
    'BAD_REQUEST',
    'This sign-in was not started in this browser, took too long, or is already finished',
    { details: [{ path: '', code: 'sign_in_expired', message: startAgain }] },
  );

const hashState = (state: string): Buffer => createHash('sha256').update(state).digest();

/** Whether an attempt or link has been used. */
export async function isUsed(ctx: Ctx, state: string): Promise<boolean> {
  const row = await ctx.db
    .control('used_sign_ins')
    .where({ state_hash: hashState(state) })
    .first('used_at');
  return row !== undefined;
}

/** Lets one request per attempt or link continue, of all processes. Rejects with 400 `sign_in_expired`. */
export async function assertFirstUse(ctx: Ctx, state: string, problem = expiredSignIn): Promise<void> {
  const { rowCount } = await ctx.db.control.raw<{ rowCount: number }>(
    'insert into used_sign_ins (state_hash) values (?) on conflict do nothing',
    [hashState(state)],
  );
  if (rowCount !== 1) throw problem();
}

const forbidden = (message: string, code: string, reason: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path: '', code, message: reason }] });

export const noAccount = (): AppError =>
  forbidden('There is no account for you here', 'no_account', 'Ask for an invitation to an organization.');

/** The address in lower case if an account may be created with it, else null. */
const usableEmail = (email: string): string | null => {
  const parsed = z.email().max(254).safeParse(email);
  return parsed.success ? parsed.data.toLowerCase() : null;
};

const maxNameLength = 120;
/** The person's name without control characters; empty when the provider returns none. */
const usableName = ({ name }: Profile): string =>
  (name ?? '')
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, maxNameLength)
    .toWellFormed();

/**
 * The user of the confirmed identity; created when sign-up is open or an invitation for the address is
 * pending. Rejects with 403 `email_not_verified` or `no_account`, and with 400 or 503 when a profile is
 * needed and can't be fetched.
 */
export async function findOrCreateUser(ctx: Ctx, proven: ProvenIdentity): Promise<User> {
  const { issuer, subject } = proven;
  const linked = await findLinkedUser(ctx, proven);
  if (linked !== undefined && linked.name.toLowerCase() !== linked.email.toLowerCase()) return linked;
  // A linked user only lacks a name, so a failure to fetch the profile doesn't prevent the sign-in.
  const profile = await (linked === undefined
    ? proven.profile()
    : proven.profile().catch(() => ({ verifiedEmail: null, name: null })));
  const email = profile.verifiedEmail === null ? null : usableEmail(profile.verifiedEmail);
  const name = usableName(profile);
  const known = linked ?? (await findUserByToken(ctx, { issuer, subject, verifiedEmail: async () => email }));
  if (known !== undefined) {
    const isNamed =
      name !== '' && (await inUserTransaction(ctx, known.id, (tx) => setUserName(tx, known.id, name))) === 1;
    return isNamed ? { ...known, name } : known;
  }
  if (email === null)
    throw forbidden(
      'Your e-mail address is not verified',
      'email_not_verified',
      'Verify it with the identity provider, then sign in again.',
    );
  const created =
    ctx.settings.allowSignup || (await hasInvitation(ctx, email))
      ? await createUser(ctx, { issuer, subject, email, name: name === '' ? email : name })
      : undefined;
  if (created === undefined) throw noAccount();
  return created;
}

type AuditedPerson = {
  readonly user: User;
  readonly credential: { readonly kind: string; readonly id: string };
};

/** Ends sessions of a person and records each in the audit log of the organization in which it was active. */
export async function endSessions(
  ctx: Pick<Ctx, 'db'>,
  person: AuditedPerson,
  which: Parameters<typeof deleteSessions>[2],
  from: Pick<ClientInfo, 'ip' | 'requestId'>,
): Promise<EndedSession[]> {
  const organizations = new Set(
    (await findMemberships(ctx, person.user.id)).map(({ organization }) => organization.id),
  );
  return inUserTransaction(ctx, person.user.id, async (tx) => {
    const ended = await deleteSessions(tx, person.user.id, which);
    for (const { id, organizationId } of ended) {
      if (organizationId !== null && organizations.has(organizationId))
        await auditSession(tx, organizationId, person, id, 'session.end', from);
    }
    return ended;
  });
}

async function auditSession(
  tx: Tx,
  organizationId: string,
  person: AuditedPerson,
  sessionId: string,
  action: 'session.start' | 'session.end',
  { ip, requestId }: Pick<ClientInfo, 'ip' | 'requestId'>,
): Promise<void> {
  await bindOrganization(tx, organizationId);
  await writeAudit(tx, { organizationId, principal: person, ip, requestId }, action, ['session', sessionId]);
}

/**
 * Ends the sessions that the browser still has, so that no token outlives a new sign-in, and creates one with
 * a new token, in the person's organization if there is exactly one. Returns the token.
 */
export async function startSession(ctx: Ctx, user: User, held: readonly string[], visitor: ClientInfo) {
  await signOut(ctx, held, visitor);
  const memberships = await findMemberships(ctx, user.id);
  const organizationId = memberships.length === 1 ? (memberships[0]?.organization.id ?? null) : null;
  return inUserTransaction(ctx, user.id, async (tx) => {
    const { id, token } = await insertSession(tx, {
      userId: user.id,
      organizationId,
      ip: visitor.ip,
      userAgent: visitor.userAgent,
    });
    const person = { user, credential: { kind: 'session', id } };
    if (organizationId !== null) await auditSession(tx, organizationId, person, id, 'session.start', visitor);
    return token;
  });
}

/** The person that a demo signs in without an identity provider. */
export type DemoPerson = {
  readonly email: string;
  readonly name: string;
  /** The time in the demo's ERP, by which what is due is late. */
  readonly businessTime?: () => Date;
};

const ensureDemoUser = (ctx: Ctx, person: DemoPerson) => registerRecipient(ctx, { ...person, id: null });

/** The person's organization: undefined while the demo is first set up. Creates the person if necessary. */
export const findDemoSlug = async (ctx: Ctx, person: DemoPerson): Promise<string | undefined> =>
  (await findMemberships(ctx, (await ensureDemoUser(ctx, person)).id))[0]?.organization.slug;

/** Creates the person if necessary and returns the token of a new session; see `startSession`. */
export const signInAsDemo = async (
  ctx: Ctx,
  person: DemoPerson,
  held: readonly string[],
  visitor: ClientInfo,
): Promise<string> => startSession(ctx, await ensureDemoUser(ctx, person), held, visitor);

export type Finished = { readonly token: string; readonly returnTo: string };
/** `cookies` are the values of the cookie of attempts. */
type Callback = { readonly query: URLSearchParams; readonly cookies: readonly string[] };

/**
 * Whom the provider's callback proves, and where the browser goes. Rejects with 400 when the sign-in has expired,
 * was already used, isn't of this browser and audience or isn't confirmed, and 503 while the provider is unreachable.
 */
export async function proveIdentity(
  ctx: Ctx,
  provider: IdentityProvider,
  { query, cookies }: Callback,
  audience = members,
): Promise<{ readonly proven: ProvenIdentity; readonly returnTo: string }> {
  const attempt = cookies
    .map((cookie) => attempts.open(ctx, cookie))
    .find((found) => found?.audience === audience && found.state === query.get('state'));
  if (attempt === undefined) throw expiredSignIn();
  await assertFirstUse(ctx, attempt.state);
  return { proven: await provider.finish(attempt, query), returnTo: attempt.returnTo };
}

/**
 * Handles the provider's callback; see `startSession`. `sessions` are the values of the browser's cookies. Rejects
 * as `proveIdentity` does, and with 403 when there is no account.
 */
export async function finishSignIn(
  ctx: Ctx,
  provider: IdentityProvider,
  { sessions, ...callback }: Callback & { readonly sessions: readonly string[] },
  visitor: ClientInfo,
): Promise<Finished> {
  const { proven, returnTo } = await proveIdentity(ctx, provider, callback);
  const user = await findOrCreateUser(ctx, proven);
  return { token: await startSession(ctx, user, sessions, visitor), returnTo };
}

/** Ends the sessions of these cookies; does nothing when there are none. */
export async function signOut(ctx: Ctx, tokens: readonly string[], visitor: ClientInfo): Promise<void> {
  for (const { id, user } of await findSessions(ctx, tokens)) {
    await endSessions(ctx, { user, credential: { kind: 'session', id } }, { only: id }, visitor);
  }
}
