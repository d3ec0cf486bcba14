// The pages of one portal, the same on a domain of its own and below /portal/{slug}.
import { type ErrorRequestHandler, type Request, type RequestHandler, type Response, Router } from 'express';
import { AppError } from '../core/errors.ts';
import { listCookieValues } from '../http/cookies.ts';
import { getRequestId, logFailure, setErrorHeaders, toAppError } from '../http/errors.ts';
import { wantsPage } from '../http/pages/error-page.ts';
import { recordServed } from '../http/served.ts';
import { methodNotAllowed, readForm } from '../http/sign-in/browser.ts';
import { callbackPath, readShownBranding } from '../platform/index.ts';
import { abortedStatus } from '../public/index.ts';
import { ask, readAskForm } from './ask/ask.ts';
import { readAskPage } from './ask/ask-page.ts';
import { followAnswer } from './ask/follow-answer.ts';
import { sendBrandColors, sendLogo } from './brand-files.ts';
import { sendListFile } from './files.ts';
import * as forms from './forms.ts';
import { visitorFrame } from './frame.ts';
import { endMails, showMailLink } from './mails/mail-link.ts';
import { orderMails, readMailOrder } from './mails/order.ts';
import { listPlaces } from './navigation.ts';
import { readConfiguredPage, readViewPage } from './pages/configured.ts';
import { readHome } from './pages/home.ts';
import { readList, readListRequest } from './pages/list.ts';
import { readProfile } from './pages/profile.ts';
import { readRecord } from './pages/record.ts';
import { sendRecordPaper, sendStatementPaper } from './papers.ts';
import { followPayment } from './pay/follow-payment.ts';
import { readPayPage } from './pay/pay-page.ts';
import { endPayment, readPayment, readPayments } from './pay/payment-page.ts';
import { readPayForm, startPayment } from './pay/start-payment.ts';
import { finishAtProvider, startAtProvider } from './provider.ts';
import { sendPage } from './renderer.ts';
import { type At, type Room, sendProblem } from './room.ts';
import { noCustomer } from './sign-in.ts';
import type { Site } from './sites.ts';
import { sendStatementFile } from './statement/statement-file.ts';
import { readStatementPage } from './statement/statement-page.ts';
import type { Page } from './view-model.ts';
import { findSignedIn, notFoundHere, openVisit, type SignedIn, type Visit } from './visit.ts';

export const setSite = (res: Response, site: Site): void => {
  res.locals['site'] = site;
};
/** Of a request at a portal. */
export const findSite = (res: Response): Site | undefined => res.locals['site'] as Site | undefined;
const toAt = (room: Room, req: Request, res: Response): At => {
  const site = res.locals['site'] as Site;
  return { room, site, req, res, ctx: { ...room.ctx, organizationId: site.organizationId } };
};

/** The frame of the console shows no sign-in. */
const viewEnded = (): AppError =>
  new AppError('UNAUTHORIZED', 'The view has ended', {
    details: [{ path: '', code: 'view_ended', message: 'Open it again from the console' }],
  });

/** Leads to the sign-in without a session. Throws 403 `no_customer` for a visitor whom the ERP names no longer. */
const signedIn =
  (work: (at: At, visitor: SignedIn) => Promise<void>) =>
  async (at: At): Promise<void> => {
    const { ctx, site, req, res, room } = at;
    const visitor = await findSignedIn(ctx, site, req);
    if (visitor === undefined) {
      if (listCookieValues(req, site.cookie.viewAs).length > 0) {
        res.clearCookie(site.cookie.viewAs, forms.cookieOptions(site));
        throw viewEnded();
      }
      if (req.headers.cookie?.includes(`${site.cookie.session}=`)) await room.failures.countGuess(req);
      res.setHeader('Cache-Control', 'private, no-store');
      const asked = req.method === 'GET' ? `?returnTo=${encodeURIComponent(req.originalUrl)}` : '';
      return res.redirect(303, `${site.base}/sign-in${asked}`);
    }
    res.locals['logged'] = {
      organizationId: site.organizationId,
      credential: { kind: 'visitor', id: visitor.session.id },
    };
    if (visitor.customers.length === 0) throw noCustomer();
    await work(at, visitor);
  };

/** The console shows the portal in a frame to a member who sees it as a visitor would. */
const isFramed = ({ session, site }: SignedIn): boolean => session.viewer_id !== null && site.base !== '';

/** What a member sees as a visitor would isn't counted. */
function countReads({ room, site, res }: At, { session, readTypes }: Visit): void {
  if (session.viewer_id !== null) return;
  const { organizationId } = site;
  res.once('close', () => {
    const status = res.writableFinished ? res.statusCode : abortedStatus;
    for (const recordType of readTypes)
      room.usage.record({ organizationId, email: session.email, recordType }, status);
  });
}

/** Lets a visitor with several customers choose one first. */
const visiting = (work: (at: At, visit: Visit) => Promise<void>) =>
  signedIn(async (at, visitor) => {
    const { customer } = visitor;
    if (customer !== undefined) {
      const visit = await openVisit({ ...visitor, customer }, at.room);
      countReads(at, visit);
      return work(at, visit);
    }
    const { ctx, site, req, res, room } = at;
    const named = await room.nameCustomers(ctx, visitor.portal, visitor.customers);
    const branding = await readShownBranding(ctx);
    const around = { site, req, files: room.files, offer: visitor.portal.settings, branding };
    const page: Page = { kind: 'choose-customer', customers: named, returnTo: req.originalUrl };
    const frame = visitorFrame(around, visitor, named, []);
    await sendPage(res, room.loadRenderer, { page, frame }, { isFramed: isFramed(visitor) });
  });

type Shown = { page: Page; pictures?: readonly string[]; status?: number };
async function show(at: At, visit: Visit, reading: Promise<Shown>): Promise<void> {
  const { room, ctx, site, req, res } = at;
  const path = `${site.base}${req.path}`;
  const [{ page, pictures = [], status = 200 }, places, named] = await Promise.all([
    reading,
    listPlaces(visit, room.hasRecords, path),
    room.nameCustomers(ctx, visit.portal, visit.customers),
  ]);
  res.status(status);
  const { branding } = visit.content;
  const around = { site, req, files: room.files, offer: visit.portal.settings, branding };
  const frame = visitorFrame(around, visit, named, places);
  await sendPage(res, room.loadRenderer, { page, frame }, { pictures, isFramed: isFramed(visit) });
}
const showing = (read: (visit: Visit, req: Request) => Promise<Shown>) =>
  visiting((at, visit) => show(at, visit, read(visit, at.req)));

/** What surrounds a page is read after the form was taken: a failure there must not hide what it did. */
const submitting = (take: (at: At, visit: Visit) => Promise<Shown | { readonly seeOther: string }>) =>
  visiting(async (at, visit) => {
    const answer = await take(at, visit);
    if ('seeOther' in answer) at.res.redirect(303, answer.seeOther);
    else await show(at, visit, Promise.resolve(answer));
  });

const param = ({ params }: Request, name: string): string => String(params[name] ?? '');

const pages: Readonly<Record<string, (at: At) => Promise<void>>> = {
  '/': showing(async (visit) => ({ page: await readHome(visit) })),
  '/records/:recordType': showing(async (visit, req) => ({
    page: await readList(visit, readListRequest(visit, param(req, 'recordType'), req)),
  })),
  '/records/:recordType/:id.pdf': visiting(sendRecordPaper),
  '/records/:recordType/:id': showing(async (visit, req) => ({
    page: await readRecord(visit, req),
  })),
  '/files/:recordType.:form': visiting(sendListFile),
  '/pages/:slug': showing((visit, req) => readConfiguredPage(visit, param(req, 'slug'))),
  '/views/:id': showing(async (visit, req) => ({ page: await readViewPage(visit, param(req, 'id')) })),
  '/pay': showing(async (visit, req) => ({ page: await readPayPage(visit, req) })),
  '/payments': showing(async (visit, req) => ({ page: await readPayments(visit, req) })),
  '/payments/:id': showing(async (visit, req) => ({ page: await readPayment(visit, req) })),
  '/payments/:id/events': visiting(followPayment),
  '/ask': showing(async (visit) => ({ page: await readAskPage(visit) })),
  '/ask/events': visiting(followAnswer),
  '/statement': showing(async (visit, req) => ({ page: await readStatementPage(visit, req) })),
  '/statement.csv': visiting(sendStatementFile),
  '/statement.pdf': visiting(sendStatementPaper),
  '/profile': showing(async (visit, req) => ({
    page: await readProfile(visit, req, await readMailOrder(visit)),
  })),
  '/mails/end': showMailLink,
  '/sign-in': forms.showSignIn,
  '/sign-in/provider': startAtProvider,
  [callbackPath]: forms.countingSignIn(finishAtProvider),
  '/code': forms.showCode,
  '/brand/:revision.css': sendBrandColors,
  '/brand/:revision/logo': sendLogo,
};
const submitted: Readonly<Record<string, (at: At) => Promise<void>>> = {
  '/sign-in': forms.signIn,
  '/code': forms.countingSignIn(forms.enterCode),
  '/demo': forms.countingSignIn(forms.signInAsDemo),
  '/pay': submitting(startPayment),
  '/ask': submitting(ask),
  '/payments/:id/end': visiting(endPayment),
  '/profile/mails': visiting(orderMails),
  '/mails/end': endMails,
  '/sign-out': forms.signOut,
  '/view-as': forms.startViewAs,
  '/language': forms.setLanguage,
  '/customer': signedIn(forms.setCustomer),
  '/sessions/end': signedIn(forms.endSessions),
};

/** Of forms that may be longer than others. */
const formReaders: Readonly<Record<string, RequestHandler>> = { '/pay': readPayForm, '/ask': readAskForm };

/** Programs get the usual error body. */
const errorPage =
  (room: Room): ErrorRequestHandler =>
  (error: unknown, req, res, next) => {
    if (res.headersSent || !wantsPage(req)) return next(error);
    const shown = toAppError(error);
    logFailure(room.ctx.log, getRequestId(res), shown, error);
    setErrorHeaders(res, shown);
    sendProblem(toAt(room, req, res), shown).catch(next);
  };

/** The router throws 404 for everything that isn't a page. `setSite` must have been called. */
export function createPortalRouter(room: Room): Router {
  const router = Router({ caseSensitive: true });
  const serve =
    (path: string, work: (at: At) => Promise<void>): RequestHandler =>
    (req, res) => {
      recordServed(res, { route: `/portal${path}`, kind: 'page' });
      return work(toAt(room, req, res));
    };
  for (const [path, work] of Object.entries(pages)) router.get(path, serve(path, work));
  for (const [path, work] of Object.entries(submitted))
    router.post(path, formReaders[path] ?? readForm, serve(path, work));
  for (const path of new Set([...Object.keys(pages), ...Object.keys(submitted)])) {
    const methods = [...(path in pages ? ['GET', 'HEAD'] : []), ...(path in submitted ? ['POST'] : [])];
    router.all(path, methodNotAllowed(methods.join(', ')));
  }
  router.use(() => {
    throw notFoundHere();
  });
  router.use(errorPage(room));
  return router;
}
