// Signing in and out: who may, and what a session starts and ends with. Between the way to the identity provider and the way back
// the attempt travels in the browser, sealed; what comes back counts only with the box that left, once, and within ten minutes.
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Tx } from '../db/transaction.ts';
import { writeAudit } from './audit.store.ts';
import type { IdentityProvider, Profile, Prompt, Proven } from './provider.ts';
import { deleteSessions, type EndedSession, enterOrganization, findSession, inPersonTransaction, insertSession } from './sessions.store.ts';
import { findLinked, findUserByToken, isInvited, makeUser, membershipsOf, nameUser, type User } from './users.store.ts';

/** Where a request comes from, for the session's list and the audit log. */
export type Visitor = { readonly ip: string; readonly userAgent: string | null; readonly requestId: string };

export const attemptMs = 600_000;
const sealedFor = 'sign-in';
const Sealed = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), returnTo: z.string(), expiresAtMs: z.number() });
type Sealed = z.output<typeof Sealed>;

const badReturn = (): AppError =>
  new AppError('BAD_REQUEST', 'The query is not valid', {
    details: [{ path: 'returnTo', code: 'foreign_address', message: 'must be a path of this service, such as /' }],
  });

/** The address to go on to, whole: a path alone may mean another host once it is resolved (`/.//host`). Throws 400. */
export function resolveReturn(returnTo: string, publicUrl: string): string {
  const origin = new URL(publicUrl).origin;
  if (!/^\/(?![/\\])[\x21-\x5b\x5d-\x7e]{0,1000}$/.test(returnTo)) throw badReturn();
  const url = URL.parse(returnTo, origin);
  if (url === null || url.origin !== origin) throw badReturn();
  return url.href;
}

type Wish = { readonly returnTo: string; readonly prompt: Prompt | undefined };

/** The provider's address to send the browser to, and the box that must come back with its answer. */
export async function beginSignIn(ctx: Ctx, provider: IdentityProvider, { returnTo, prompt }: Wish): Promise<{ url: string; box: string }> {
  const target = resolveReturn(returnTo, ctx.settings.publicUrl);
  const { attempt, url } = await provider.begin(prompt);
  const sealed: Sealed = { ...attempt, returnTo: target, expiresAtMs: ctx.clock.now().getTime() + attemptMs };
  return { url: url.href, box: ctx.keyring.seal(JSON.stringify(sealed), sealedFor) };
}

const startAgain = (): AppError =>
  new AppError('BAD_REQUEST', 'This sign-in was not started in this browser, took too long, or is already finished', {
    details: [{ path: '', code: 'sign_in_expired', message: 'Start again from /auth/login' }],
  });

/** Throws 400 unless the box is ours, in time, and belongs to the answer. */
function openBox(ctx: Ctx, box: string | undefined, answer: URLSearchParams): Sealed {
  let opened: unknown;
  try {
    opened = JSON.parse(ctx.keyring.open(box ?? '', sealedFor));
  } catch {
    throw startAgain();
  }
  const { data } = Sealed.safeParse(opened);
  if (data === undefined || data.expiresAtMs <= ctx.clock.now().getTime() || answer.get('state') !== data.state) throw startAgain();
  return data;
}

/** Of two requests with the same attempt one goes on, whichever process they reach. Throws 400. */
async function useOnce(ctx: Ctx, state: string): Promise<void> {
  const hash = createHash('sha256').update(state).digest();
  const { rowCount } = await ctx.db.control.raw<{ rowCount: number }>(
    'insert into used_sign_ins (state_hash) values (?) on conflict do nothing',
    [hash],
  );
  if (rowCount !== 1) throw startAgain();
}

const refuse = (message: string, code: string, reason: string): AppError =>
  new AppError('FORBIDDEN', message, { details: [{ path: '', code, message: reason }] });

/** What an account may be made with. */
const usableEmail = (email: string): string | null => {
  const parsed = z.email().max(254).safeParse(email);
  return parsed.success ? parsed.data.toLowerCase() : null;
};

const longestName = 120;
/** Empty when the provider names nobody. */
const usableName = ({ name }: Profile): string =>
  (name ?? '')
    .toWellFormed()
    .replaceAll(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, longestName)
    .toWellFormed();

/** The user whom the provider means; made where sign-up is open or an invitation waits. Throws 403. */
export async function findOrMakeUser(ctx: Ctx, proven: Proven): Promise<User> {
  const { issuer, subject } = proven;
  const linked = await findLinked(ctx, proven);
  if (linked !== undefined && linked.name.toLowerCase() !== linked.email.toLowerCase()) return linked;
  // Only a name is missing to someone known: they get in without one.
  const profile = await (linked === undefined ? proven.profile() : proven.profile().catch(() => ({ verifiedEmail: null, name: null })));
  const email = profile.verifiedEmail === null ? null : usableEmail(profile.verifiedEmail);
  const name = usableName(profile);
  const known = linked ?? (await findUserByToken(ctx, { issuer, subject, verifiedEmail: async () => email }));
  if (known !== undefined) {
    const isNamed = name !== '' && (await inPersonTransaction(ctx, known.id, (tx) => nameUser(tx, known.id, name))) === 1;
    return isNamed ? { ...known, name } : known;
  }
  if (email === null)
    throw refuse('Your e-mail address is not verified', 'email_not_verified', 'The identity provider must have verified it');
  const made =
    ctx.settings.allowSignup || (await isInvited(ctx, email))
      ? await makeUser(ctx, { issuer, subject, email, name: name === '' ? email : name })
      : undefined;
  if (made === undefined) throw refuse('There is no account for you here', 'no_account', 'Ask for an invitation to an organization');
  return made;
}

type AuditedPerson = { readonly user: User; readonly credential: { readonly kind: string; readonly id: string } };

/** Ends sessions of a person and leaves a row for each in the audit log of the organization that it was in. */
export async function endSessions(
  ctx: Pick<Ctx, 'db'>,
  person: AuditedPerson,
  which: Parameters<typeof deleteSessions>[2],
  from: Pick<Visitor, 'ip' | 'requestId'>,
): Promise<EndedSession[]> {
  const organizations = new Set((await membershipsOf(ctx, person.user.id)).map(({ organization }) => organization.id));
  return inPersonTransaction(ctx, person.user.id, async (tx) => {
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
  action: string,
  { ip, requestId }: Pick<Visitor, 'ip' | 'requestId'>,
): Promise<void> {
  await enterOrganization(tx, organizationId);
  await writeAudit(tx, { organizationId, principal: person, ip, requestId }, { action, target: { type: 'session', id: sessionId } });
}

/** A new session with a new token, in the person's organization if there is just one. */
async function startSession(ctx: Ctx, user: User, visitor: Visitor): Promise<string> {
  const memberships = await membershipsOf(ctx, user.id);
  const organizationId = memberships.length === 1 ? (memberships[0]?.organization.id ?? null) : null;
  return inPersonTransaction(ctx, user.id, async (tx) => {
    const { id, token } = await insertSession(tx, { userId: user.id, organizationId, ip: visitor.ip, userAgent: visitor.userAgent });
    const person = { user, credential: { kind: 'session', id } };
    if (organizationId !== null) await auditSession(tx, organizationId, person, id, 'session.start', visitor);
    return token;
  });
}

type Finished = { readonly token: string; readonly returnTo: string };
type Callback = { readonly answer: URLSearchParams; readonly box: string | undefined; readonly session: string | undefined };

/** The way back from the provider. A session that the browser still shows ends: no token outlives a sign-in. */
export async function finishSignIn(
  ctx: Ctx,
  provider: IdentityProvider,
  { answer, box, session }: Callback,
  visitor: Visitor,
): Promise<Finished> {
  const attempt = openBox(ctx, box, answer);
  await useOnce(ctx, attempt.state);
  const user = await findOrMakeUser(ctx, await provider.finish(attempt, answer));
  if (session !== undefined) await signOut(ctx, session, visitor);
  return { token: await startSession(ctx, user, visitor), returnTo: attempt.returnTo };
}

/** Nothing happens for a token that opens no session. */
export async function signOut(ctx: Ctx, token: string, visitor: Visitor): Promise<void> {
  const session = await findSession(ctx, token);
  if (session === undefined) return;
  const person = { user: session.user, credential: { kind: 'session', id: session.id } };
  await endSessions(ctx, person, { only: session.id }, visitor);
}
