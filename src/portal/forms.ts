// The forms of the portal: signing in and out, choosing a customer or a language, ending sessions. All of them work
// without scripts, and only from pages of the portal itself.
import type { CookieOptions } from 'express';
import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { inTransaction } from '../db/transaction.ts';
import { callerAddress, callerNetwork } from '../http/caller-address.ts';
import { listCookieValues } from '../http/cookies.ts';
import { setErrorHeaders } from '../http/errors.ts';
import {
  assertFromOwnPage,
  isFromThisMachine,
  parseForm,
  parseQuery,
  toClientInfo,
} from '../http/sign-in/browser.ts';
import { knownBrowserTtlMs } from '../identity/mailed-code.ts';
import { assertFirstUse, attemptTtlMs } from '../identity/sign-in.ts';
import {
  findPortalProvider,
  findTypicalAddress,
  openViewAs,
  type Portal,
  viewAsSeconds,
} from '../platform/index.ts';
import { abortedStatus } from '../public/index.ts';
import { chooseLanguage, isLanguage, languageCookie } from './frame.ts';
import { type At, assertOwnForm, sendPlainPage } from './room.ts';
import { chooseCustomer, deleteHeld, deleteSessions, insertSession } from './sessions.store.ts';
import {
  askForCode,
  daySeconds,
  deliverCode,
  findAttempt,
  finishSignIn,
  resolvePage,
  startSession,
  toFormProblem,
} from './sign-in.ts';
import type { Site } from './sites.ts';
import type { Page } from './view-model.ts';
import { findSignedIn, getPortal, notFoundHere, type SignedIn } from './visit.ts';

export const cookieOptions = ({ isSecure }: Site): CookieOptions => ({
  ...{ httpOnly: true, sameSite: 'lax', secure: isSecure, path: '/' },
});
export const cookiesOf = ({ req, site }: At, name: keyof Site['cookie']): readonly string[] =>
  listCookieValues(req, site.cookie[name]);

/** To a page of the portal that a form named. */
const goTo = ({ res, site }: At, returnTo: string): void => res.redirect(303, resolvePage(site, returnTo));

/** Shows what was wrong with the form in the form; other errors are rejected with. */
async function orShow(
  at: At,
  work: () => Promise<void>,
  show: (problem: AppError) => Page | undefined | Promise<Page | undefined>,
) {
  try {
    await work();
  } catch (error) {
    const page = error instanceof AppError && !at.res.headersSent ? await show(error) : undefined;
    if (page === undefined) throw error;
    setErrorHeaders(at.res, error as AppError);
    await sendPlainPage(at, page, await getPortal(at.ctx));
  }
}

export const Returning = z.object({ returnTo: z.string().max(2_000).default('/').catch('/') });
const AddressForm = z.object({ email: z.string().max(320).default('') }).extend(Returning.shape);
const CodeForm = z.object({ code: z.string().max(40).default('') });
/** Why the visitor comes back from the identity provider. */
const ProviderProblem = z.enum(['not_signed_in', 'not_verified']);
export type ProviderProblem = z.output<typeof ProviderProblem>;
const SignInQuery = z.object({ problem: ProviderProblem.nullable().catch(null) }).extend(Returning.shape);

const findProviderLabel = async ({ ctx }: At) => (await findPortalProvider(ctx))?.label ?? null;

export async function showSignIn(at: At): Promise<void> {
  const portal = await getPortal(at.ctx);
  const { returnTo, problem } = SignInQuery.parse(at.req.query);
  const isDemo = at.room.isDemo && isFromThisMachine(at.req, at.ctx.settings);
  const demo = isDemo ? await findTypicalAddress(at.ctx, portal) : undefined;
  if ((await findSignedIn(at.ctx, at.site, at.req)) !== undefined) return goTo(at, returnTo);
  await sendPlainPage(
    at,
    {
      kind: 'sign-in',
      email: '',
      returnTo,
      problem: problem && { code: problem },
      demo: demo === undefined ? null : { email: demo },
      provider: await findProviderLabel(at),
    },
    portal,
  );
}

export async function signIn(at: At): Promise<void> {
  const { ctx, req, res, site, room } = at;
  assertOwnForm(at);
  const { email, returnTo } = parseForm(AddressForm, req);
  const asked = { email, returnTo, browsers: cookiesOf(at, 'browser'), network: callerNetwork(req) };
  await orShow(
    at,
    async () => {
      const portal = await getPortal(ctx);
      const started = await askForCode(ctx, { site, portal }, asked);
      res.cookie(site.cookie.code, started.cookie, { ...cookieOptions(site), maxAge: attemptTtlMs });
      res.redirect(303, `${site.base}/code`);
      deliverCode(ctx, {
        ...{ site, portal, started, language: chooseLanguage(req, portal.settings), send: room.sendMail },
        ...{ userAgent: req.headers['user-agent'] ?? null, loadRenderer: room.loadRenderer },
      });
    },
    async (problem) => {
      const shown = toFormProblem(problem);
      if (shown === undefined) return undefined;
      const typed = { email: email.slice(0, 254), returnTo, problem: shown };
      return { kind: 'sign-in', ...typed, demo: null, provider: await findProviderLabel(at) };
    },
  );
}

const noteVisitor = ({ res }: At, email: string): void => {
  res.locals['visitor'] = email;
};

/** Counts a sign-in with its visitor, and one without success by the status of the response. */
export const countingSignIn =
  (work: (at: At) => Promise<void>) =>
  async (at: At): Promise<void> => {
    const { room, res, site } = at;
    const call = { organizationId: site.organizationId, recordType: '' };
    res.once('close', () => {
      const email: unknown = res.locals['visitor'];
      const refused = res.writableFinished ? Math.max(400, res.statusCode) : abortedStatus;
      if (typeof email === 'string') room.usage.record({ ...call, email }, 200);
      else room.usage.record({ ...call, email: '' }, refused);
    });
    await work(at);
  };

/** Signs the visitor in, who has proven the address, and ends the sessions that the browser held. */
export async function setSession(at: At, { settings }: Portal, email: string): Promise<void> {
  const { ctx, req, res, site } = at;
  const lifetimeSeconds = settings.signInLifetimeDays * daySeconds;
  const starting = { email, sessions: cookiesOf(at, 'session'), lifetimeSeconds };
  const token = await startSession(ctx, site, starting, toClientInfo(req, res));
  noteVisitor(at, email);
  res.cookie(site.cookie.session, token, { ...cookieOptions(site), maxAge: lifetimeSeconds * 1_000 });
}

/**
 * Signs in as a customer of the demo, without proof. Throws 404 without a demo, and 403 unless a page of this service
 * asks, on this machine.
 */
export async function signInAsDemo(at: At): Promise<void> {
  const { ctx, req, res, site, room } = at;
  if (!room.isDemo) throw notFoundHere();
  assertFromOwnPage(req, ctx.settings);
  const portal = await getPortal(ctx);
  const email = await findTypicalAddress(ctx, portal);
  if (email === undefined) throw notFoundHere();
  await setSession(at, portal, email);
  res.redirect(303, `${site.base}/`);
}

const CodeQuery = z.object({ request: z.uuid().optional() });

export async function showCode(at: At): Promise<void> {
  const portal = await getPortal(at.ctx);
  const { request } = parseQuery(CodeQuery, at.req);
  const attempt = findAttempt(at.ctx, at.site, cookiesOf(at, 'code'));
  const isElsewhere = attempt === undefined || (request !== undefined && request !== attempt.id);
  await sendPlainPage(
    at,
    isElsewhere ? { kind: 'other-browser' } : { kind: 'code', email: attempt.email, problem: null },
    portal,
  );
}

export async function enterCode(at: At): Promise<void> {
  const { ctx, req, res, site, room } = at;
  assertOwnForm(at);
  const given = {
    ...parseForm(CodeForm, req),
    cookies: cookiesOf(at, 'code'),
    sessions: cookiesOf(at, 'session'),
  };
  await orShow(
    at,
    async () => {
      const { token, email, browser, returnTo, lifetimeSeconds } = await finishSignIn(
        ctx,
        site,
        given,
        toClientInfo(req, res),
      ).catch(room.failures.countRefusal(req));
      noteVisitor(at, email);
      const options = cookieOptions(site);
      res.clearCookie(site.cookie.code, options);
      res.cookie(site.cookie.browser, browser, { ...options, maxAge: knownBrowserTtlMs });
      res.cookie(site.cookie.session, token, { ...options, maxAge: lifetimeSeconds * 1_000 });
      res.redirect(303, returnTo);
    },
    (problem) => {
      const shown = toFormProblem(problem);
      const email = findAttempt(ctx, site, given.cookies)?.email ?? null;
      return shown && { kind: 'code', email, problem: shown };
    },
  );
}

const ViewAsForm = z.object({ code: z.string().max(2_000) });

/** Opens the portal for a member as a visitor would see it. Throws 403 for a code that is over. */
export async function startViewAs(at: At): Promise<void> {
  const { ctx, req, res, site } = at;
  const { code } = parseForm(ViewAsForm, req);
  const opened = openViewAs(ctx, site.organizationId, code);
  if (opened === undefined) throw viewAsOver();
  await assertFirstUse(ctx, opened.id, viewAsOver);
  const { viewerId, email, customer } = opened;
  const { token } = await inTransaction(ctx, (tx) =>
    insertSession(tx, site, {
      ...{ email, customer, viewer_id: viewerId, previous_visit_at: null, lifetimeSeconds: viewAsSeconds },
      ...{ ip: callerAddress(req), userAgent: req.headers['user-agent'] ?? null },
    }),
  );
  res.cookie(site.cookie.viewAs, token, { ...cookieOptions(site), maxAge: viewAsSeconds * 1_000 });
  res.redirect(303, `${site.base}/`);
}

const viewAsOver = (): AppError =>
  new AppError('FORBIDDEN', 'This code is over', {
    details: [{ path: 'code', code: 'view_as_over', message: 'Open the portal from the console again' }],
  });

export async function signOut(at: At): Promise<void> {
  const { ctx, res, site } = at;
  assertOwnForm(at);
  const viewing = cookiesOf(at, 'viewAs');
  const which = viewing.length > 0 ? 'viewAs' : 'session';
  await inTransaction(ctx, (tx) => deleteHeld(tx, site.organizationId, cookiesOf(at, which)));
  if (which === 'viewAs') return res.redirect(303, `${site.base}/`);
  res.clearCookie(site.cookie.session, cookieOptions(site));
  res.redirect(303, `${site.base}/sign-in`);
}

const LanguageForm = z.object({ language: z.string().max(10) }).extend(Returning.shape);

/** Throws 404 for another language. */
export async function setLanguage(at: At): Promise<void> {
  const { req, res, site } = at;
  assertOwnForm(at);
  const { language, returnTo } = parseForm(LanguageForm, req);
  if (!isLanguage(language)) throw notFoundHere();
  res.cookie(languageCookie, language, { ...cookieOptions(site), maxAge: knownBrowserTtlMs });
  goTo(at, returnTo);
}

const CustomerForm = z.object({ customer: z.string().max(200) }).extend(Returning.shape);

/** Throws 404 for a customer that isn't the visitor's. */
export async function setCustomer(at: At, visitor: SignedIn): Promise<void> {
  const { ctx, req, site } = at;
  assertOwnForm(at);
  const { customer, returnTo } = parseForm(CustomerForm, req);
  if (!visitor.customers.includes(customer)) throw notFoundHere();
  await inTransaction(ctx, (tx) => chooseCustomer(tx, site.organizationId, visitor.session.id, customer));
  goTo(at, returnTo);
}

const EndForm = z.object({ session: z.uuid().optional(), all: z.literal('1').optional() });

/** Ends one session of the visitor, or all of them. Throws 404 when the form names none. */
export async function endSessions(at: At, { session }: SignedIn): Promise<void> {
  const { ctx, req, res, site } = at;
  assertOwnForm(at);
  const { session: id, all } = parseForm(EndForm, req);
  if (id === undefined && all === undefined) throw notFoundHere();
  await inTransaction(ctx, (tx) =>
    deleteSessions(tx, site.organizationId, session.email, all ? undefined : id),
  );
  res.redirect(303, all === undefined && id !== session.id ? `${site.base}/profile` : `${site.base}/sign-in`);
}
