// Sign-in with six digits that are sent by mail: of members, and of visitors of a portal. The browser that asks
// holds the attempt in an encrypted cookie, so that nothing about an address is stored before its code has come
// back, and the code works in that browser alone. All limits are counted in PostgreSQL for all processes, for known
// and unknown addresses alike: responses don't show whether an address has an account.
import { createHash, randomInt } from 'node:crypto';
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';
import { AppError, invalid } from '../core/errors.ts';
import { createId } from '../core/id.ts';
import { countHits } from '../db/rate-limits.ts';
import { normalizeEmail } from './email-address.ts';
import { defineSealed } from './sealed.ts';
import {
  assertFirstUse,
  attemptTtlMs,
  type ClientInfo,
  expiredSignIn,
  type Finished,
  noAccount,
  startSession,
} from './sign-in.ts';
import { findMailRecipient, type MailRecipient, registerRecipient } from './users.store.ts';

/**
 * Whose codes they are: the code, the browser and the limits of one audience count for no other. `mailsPerHour`:
 * the most codes that all addresses together get.
 */
export type CodeAudience = { readonly name: string; readonly mailsPerHour?: number };
const members: CodeAudience = { name: 'members' };
const audience = z.string().default(members.name);

const attempts = defineSealed(
  'mailed-code',
  attemptTtlMs,
  z.object({
    id: z.string(),
    email: z.string(),
    audience,
    /** HMAC of the code with the id, under the service's key. */
    mac: z.string(),
    returnTo: z.string(),
    /** What mails and tries are counted by. */
    allowance: z.string(),
  }),
);
export type MailAttempt = { readonly id: string; readonly email: string };

export const knownBrowserTtlMs = 365 * 86_400_000;
/** A browser that signed in before: it has its own allowance, so that no one else can use it up. */
const knownBrowsers = defineSealed(
  'known-browser',
  knownBrowserTtlMs,
  z.object({ id: z.string(), email: z.string(), audience }),
);

export const maxTries = 5;
const maxTriesPerDay = 20;
const maxMailsPerHour = 5;
const maxMailsPerNetworkAndHour = 30;
const hourSeconds = 3_600;
const daySeconds = 86_400;

const macBinding = 'mailed-code';
const createMac = ({ keyring }: Pick<Ctx, 'keyring'>, id: string, code: string): string =>
  keyring.sign(`${id} ${code}`, macBinding).split('.')[1] ?? '';
const isCode = ({ keyring }: Pick<Ctx, 'keyring'>, id: string, code: string, mac: string): boolean =>
  keyring.verify(`${Buffer.from(`${id} ${code}`).toString('base64url')}.${mac}`, macBinding) !== undefined;

const inMinutes = (seconds: number): string => {
  const minutes = Math.max(1, Math.ceil(seconds / 60));
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`;
};

/** Counts one event of the key. Rejects with 429 when there are more than `max` in the window. */
async function assertWithin(
  ctx: Pick<Ctx, 'db'>,
  { key, max, windowSeconds, problem }: { key: string; max: number; windowSeconds: number; problem: string },
): Promise<void> {
  const { hits, secondsLeft } = await countHits(ctx, key, { windowSeconds });
  if (hits <= max) return;
  throw new AppError('RATE_LIMIT_EXCEEDED', problem, {
    headers: { 'Retry-After': String(Math.max(1, Math.ceil(secondsLeft))) },
    details: [{ path: '', code: 'too_many', message: `Try again ${inMinutes(secondsLeft)}.` }],
  });
}

type CodeRequest = {
  /** As typed. */
  readonly email: string;
  /** Where the browser goes afterwards; must be safe. */
  readonly returnTo: string;
  /** The cookies that `verifyCode` returned to this browser. */
  readonly browsers: readonly string[];
  /** Where the request comes from, for the limit of a network. */
  readonly network: string;
};

/** The code, and the cookie value that must come back with it. */
export type StartedCode = MailAttempt & { readonly code: string; readonly cookie: string };

/** What the limits of an address are counted by. */
const addressKey = ({ name }: CodeAudience, email: string): string =>
  createHash('sha256')
    .update(name === members.name ? email : `${name} ${email}`)
    .digest('base64url');

/**
 * Starts an attempt for an address, which may have no account. Rejects with 422 for a text that is no address,
 * and 429 when the address, the network or the audience has asked too often.
 */
export async function startWithCode(
  ctx: Ctx,
  { email: typed, returnTo, browsers, network }: CodeRequest,
  of: CodeAudience = members,
): Promise<StartedCode> {
  const email = normalizeEmail(typed);
  if (email === null)
    throw invalid('This is not an e-mail address', [
      { path: 'email', code: 'invalid', message: 'Enter an address such as name@company.com.' },
    ]);
  await assertWithin(ctx, {
    key: `code-mails:network:${network}`,
    max: maxMailsPerNetworkAndHour,
    windowSeconds: hourSeconds,
    problem: 'Too many codes were requested from here',
  });
  const known = browsers
    .map((cookie) => knownBrowsers.open(ctx, cookie))
    .find((found) => found?.email === email && found.audience === of.name);
  const allowance = known?.id ?? addressKey(of, email);
  await assertWithin(ctx, {
    key: `code-mails:${allowance}`,
    max: maxMailsPerHour,
    windowSeconds: hourSeconds,
    problem: 'Too many codes were requested for this address',
  });
  if (of.mailsPerHour !== undefined)
    await assertWithin(ctx, {
      key: `code-mails:audience:${of.name}`,
      max: of.mailsPerHour,
      windowSeconds: hourSeconds,
      problem: 'Too many codes were requested here',
    });
  const [id, code] = [createId(), String(randomInt(1_000_000)).padStart(6, '0')];
  const cookie = attempts.seal(ctx, {
    id,
    email,
    audience: of.name,
    mac: createMac(ctx, id, code),
    returnTo,
    allowance,
  });
  return { id, email, code, cookie };
}

const findAttempt = (ctx: Ctx, cookies: readonly string[], { name }: CodeAudience) =>
  cookies.map((cookie) => attempts.open(ctx, cookie)).find((found) => found?.audience === name);

/** The attempt that this browser has started; undefined when there is none or it has expired. */
export const findMailAttempt = (
  ctx: Ctx,
  cookies: readonly string[],
  of: CodeAudience = members,
): MailAttempt | undefined => findAttempt(ctx, cookies, of);

/**
 * Who may sign in with a code sent to this address. Undefined for unknown addresses, and for people whom a
 * configured identity provider signs in: a code would pass by the provider's second factor.
 */
export async function findCodeRecipient(ctx: Ctx, email: string): Promise<MailRecipient | undefined> {
  const found = await findMailRecipient(ctx, email);
  return found?.linked === true && ctx.settings.oidc !== null ? undefined : found;
}

type TypedCode = {
  readonly code: string;
  /** The values of the cookies of attempts. */
  readonly cookies: readonly string[];
};

/** The owner of the address. `browser` is a cookie value that gives this browser its own allowance. */
export type VerifiedCode = {
  readonly email: string;
  readonly returnTo: string;
  readonly browser: string;
};

const usedUp = (): AppError =>
  new AppError('RATE_LIMIT_EXCEEDED', 'This code was tried too often', {
    details: [{ path: 'code', code: 'code_used_up', message: 'Request another code.' }],
  });

const wrongCode = (triesLeft: number): AppError =>
  new AppError('BAD_REQUEST', 'This is not the code', {
    cause: { triesLeft },
    details: [
      {
        path: 'code',
        code: 'wrong_code',
        message:
          triesLeft === 0 ? 'Request another code.' : `Check the latest mail. ${triesLeft} tries left.`,
      },
    ],
  });

/** Uses it up. Rejects with 400 `sign_in_expired`, `wrong_code`, 422 for no code, 429 after many tries. */
export async function verifyCode(
  ctx: Ctx,
  { code: typed, cookies }: TypedCode,
  of: CodeAudience = members,
): Promise<VerifiedCode> {
  const attempt = findAttempt(ctx, cookies, of);
  if (attempt === undefined) throw expiredSignIn();
  const code = typed.replaceAll(/[\s-]/g, '');
  if (!/^\d{6}$/.test(code))
    throw invalid('A code has six digits', [
      { path: 'code', code: 'invalid', message: 'Enter the six digits of the mail.' },
    ]);
  const { hits: tries } = await countHits(ctx, `code-tries:${attempt.id}`, {
    windowSeconds: attemptTtlMs / 1_000,
  });
  if (tries > maxTries) throw usedUp();
  await assertWithin(ctx, {
    key: `code-tries:${attempt.allowance}`,
    max: maxTriesPerDay,
    windowSeconds: daySeconds,
    problem: 'Too many codes were tried for this address today',
  });
  if (!isCode(ctx, attempt.id, code, attempt.mac)) throw wrongCode(maxTries - tries);
  await assertFirstUse(ctx, attempt.id);
  return {
    email: attempt.email,
    returnTo: attempt.returnTo,
    browser: knownBrowsers.seal(ctx, { id: createId(), email: attempt.email, audience: of.name }),
  };
}

/**
 * Signs a member in with the code; see `startSession`. `sessions` are the values of the browser's cookies. Creates
 * a user who is only invited so far. Rejects as `verifyCode` does, and with 403 `no_account`.
 */
export async function finishWithCode(
  ctx: Ctx,
  { sessions, ...typed }: TypedCode & { readonly sessions: readonly string[] },
  client: ClientInfo,
): Promise<Finished & Pick<VerifiedCode, 'browser'>> {
  const { email, returnTo, browser } = await verifyCode(ctx, typed);
  const recipient = await findCodeRecipient(ctx, email);
  if (recipient === undefined) throw noAccount();
  const user = await registerRecipient(ctx, recipient);
  return { token: await startSession(ctx, user, sessions, client), returnTo, browser };
}
