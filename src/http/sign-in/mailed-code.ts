// Sign-in with a mailed code: two forms, for the address and for the code. They work without scripts. The mail
// is sent behind the response, so that the time of the response doesn't show who has an account.
import type { CookieOptions, Request, RequestHandler, Response, Router } from 'express';
import { z } from 'zod';
import type { Ctx } from '../../core/ctx.ts';
import type { AppError } from '../../core/errors.ts';
import {
  findCodeRecipient,
  findMailAttempt,
  finishWithCode,
  knownBrowserTtlMs,
  type StartedCode,
  startWithCode,
} from '../../identity/mailed-code.ts';
import { attemptTtlMs, resolveReturnUrl } from '../../identity/sign-in.ts';
import { assertSameOrigin } from '../authenticate.ts';
import { callerNetwork } from '../caller-address.ts';
import { attemptCookiePath, listCookieValues, sessionCookies, toCookieName } from '../cookies.ts';
import type { FailureLimit } from '../failure-limit.ts';
import { sendAddressForm, sendCodeForm, sendOtherBrowserPage } from '../pages/sign-in-forms.ts';
import type { SmallPageFiles } from '../pages/small-page.ts';
import {
  createCookieOptions,
  methodNotAllowed,
  parseForm,
  parseQuery,
  readForm,
  setSessionCookie,
  showInForm,
  toClientInfo,
} from './browser.ts';

/** A mail with a code; `browser` is the requesting browser's User-Agent header. */
export type CodeMail = {
  readonly to: { readonly address: string; readonly name: string };
  readonly code: string;
  readonly url: string;
  readonly browser: string;
  readonly requestedAt: Date;
};
/** Delivers the mail, or gives up when its code has expired; never rejects. */
export type SendCodeMail = (ctx: Ctx, mail: CodeMail, stop: AbortSignal) => Promise<void>;

const AddressForm = z.strictObject({ email: z.string().max(320), returnTo: z.string().default('/') });
const CodeForm = z.strictObject({ code: z.string().max(40) });
const CodeQuery = z.strictObject({ request: z.uuid().optional() });

/** Looks up the address and sends the mail, in the background. Unknown addresses get none. */
function deliver(ctx: Ctx, { id, email, code }: StartedCode, browser: string, send: SendCodeMail): void {
  const requestedAt = ctx.clock.now();
  const work = ctx.work.track('code-mails', async (stop) => {
    const recipient = await findCodeRecipient(ctx, email);
    if (recipient === undefined) return;
    const to = { address: recipient.email, name: recipient.name };
    const url = `${ctx.settings.publicUrl}/auth/code?request=${id}`;
    await send(ctx, { to, code, url, browser, requestedAt }, stop);
  });
  work.catch((error: unknown) => ctx.log.warn({ err: error }, 'a sign-in code could not be mailed'));
}

type Options = {
  readonly failures: FailureLimit;
  readonly send: SendCodeMail;
  readonly files: SmallPageFiles;
};
/** With the names and the options of the two cookies. */
type Mount = Options & {
  readonly ctx: Ctx;
  readonly attemptName: string;
  readonly browserName: string;
  readonly cookie: CookieOptions;
};

const findAttempt = ({ ctx, attemptName }: Mount, req: Request) =>
  findMailAttempt(ctx, listCookieValues(req, attemptName));

const askForCode =
  ({ ctx, send, attemptName, browserName, cookie }: Mount): RequestHandler =>
  async (req, res) => {
    const { publicUrl } = ctx.settings;
    assertSameOrigin(req, publicUrl);
    const { email, returnTo } = parseForm(AddressForm, req);
    const started = await startWithCode(ctx, {
      email,
      returnTo: resolveReturnUrl(returnTo, publicUrl),
      browsers: listCookieValues(req, browserName),
      network: callerNetwork(req),
    });
    res.cookie(attemptName, started.cookie, { ...cookie, maxAge: attemptTtlMs });
    res.redirect(303, '/auth/code');
    deliver(ctx, started, req.headers['user-agent'] ?? '', send);
  };

const showCodeForm =
  (mount: Mount): RequestHandler =>
  (req, res) => {
    const { request } = parseQuery(CodeQuery, req);
    const attempt = findAttempt(mount, req);
    const { files } = mount;
    if (attempt === undefined || (request !== undefined && request !== attempt.id))
      return sendOtherBrowserPage(res, files);
    sendCodeForm(res, { email: attempt.email, files });
  };

const signIn =
  ({ ctx, failures, attemptName, browserName, cookie }: Mount): RequestHandler =>
  async (req, res) => {
    const { publicUrl } = ctx.settings;
    assertSameOrigin(req, publicUrl);
    const given = {
      ...parseForm(CodeForm, req),
      cookies: listCookieValues(req, attemptName),
      sessions: sessionCookies(req, publicUrl),
    };
    const { token, returnTo, browser } = await finishWithCode(ctx, given, toClientInfo(req, res)).catch(
      failures.countRefusal(req),
    );
    res.clearCookie(attemptName, cookie);
    res.cookie(browserName, browser, { ...cookie, maxAge: knownBrowserTtlMs });
    setSessionCookie(res, ctx, token);
    res.redirect(303, returnTo);
  };

const GivenAddress = z
  .object({ email: z.string().default(''), returnTo: z.string().default('/') })
  .catch({ email: '', returnTo: '/' });

/** Adds /mail and /code below /auth. */
export function mountMailedCode(router: Router, ctx: Ctx, options: Options): void {
  const { publicUrl } = ctx.settings;
  const { files } = options;
  const mount: Mount = {
    ...options,
    ctx,
    attemptName: toCookieName(publicUrl, 'portal_code'),
    browserName: toCookieName(publicUrl, 'portal_browser'),
    cookie: createCookieOptions(publicUrl, attemptCookiePath(publicUrl)),
  };
  const inAddressForm = (res: Response, problem: AppError, req: Request): void =>
    sendAddressForm(res, { ...GivenAddress.parse(req.body), provider: false, files, problem });
  const inCodeForm = (res: Response, problem: AppError, req: Request): void =>
    sendCodeForm(res, { email: findAttempt(mount, req)?.email, files, problem });
  router
    .post('/mail', readForm, askForCode(mount), showInForm(inAddressForm))
    .all('/mail', methodNotAllowed('POST'))
    .get('/code', showCodeForm(mount))
    .post('/code', readForm, signIn(mount), showInForm(inCodeForm))
    .all('/code', methodNotAllowed('GET, HEAD, POST'));
}
