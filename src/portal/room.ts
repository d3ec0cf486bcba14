// What all requests of the portal share, and what one of them is about.
import type { Request, Response } from 'express';
import type { ReadingCtx } from '../core/ctx.ts';
import type { AppError } from '../core/errors.ts';
import type { SharedSemaphore } from '../core/work/shared-semaphores.ts';
import type { TopicNotifications } from '../db/topic-notifications.ts';
import { assertSameOrigin } from '../http/authenticate.ts';
import { listCookieValues } from '../http/cookies.ts';
import { getRequestId } from '../http/errors.ts';
import type { FailureLimit } from '../http/failure-limit.ts';
import type { SendCodeMail } from '../mail/index.ts';
import type { PdfWriter } from '../pdf/index.ts';
import {
  type nameCustomers,
  type Portal,
  type PortalCtx,
  readShownBranding,
  withoutBranding,
} from '../platform/index.ts';
import type { UsageCounter } from '../public/index.ts';
import { everyLanguage, type Files, plainFrame } from './frame.ts';
import type { HasRecords } from './navigation.ts';
import { toProblemPage } from './problems.ts';
import type { Providers } from './providers.ts';
import { type LoadRenderer, sendPage } from './renderer.ts';
import type { Site, Sites } from './sites.ts';
import type { Page } from './view-model.ts';
import type { VisitSources } from './visit.ts';

/** One for each process. */
export type Room = VisitSources & {
  readonly ctx: ReadingCtx;
  readonly sites: Sites;
  readonly providers: Providers;
  readonly failures: FailureLimit;
  readonly usage: UsageCounter;
  /** Whether anyone on this machine may sign in as a visitor. */
  readonly isDemo: boolean;
  readonly files: Files;
  readonly sendMail: SendCodeMail;
  readonly loadRenderer: LoadRenderer;
  readonly hasRecords: HasRecords;
  readonly pdf: PdfWriter;
  /** Of the pages that follow a payment, by session. */
  readonly streams: SharedSemaphore;
  readonly notices: TopicNotifications;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
  readonly nameCustomers: typeof nameCustomers;
};

export type At = {
  readonly room: Room;
  readonly ctx: PortalCtx;
  readonly site: Site;
  readonly req: Request;
  readonly res: Response;
};

/** Aborted when the browser has gone, which it may have by the time that it is asked. */
export function disconnected(res: Response): AbortSignal {
  const left = new AbortController();
  if (res.closed) left.abort();
  res.once('close', () => left.abort());
  return left.signal;
}

/** Throws 403 for a form of another site. */
export const assertOwnForm = ({ req, site }: At): void => assertSameOrigin(req, site.origin);

/** A page before sign-in, or without records. */
export async function sendPlainPage(at: At, page: Page, portal?: Portal, isFramed = false): Promise<void> {
  const { room, ctx, site, req, res } = at;
  // A page that says that the database is unavailable has to do without.
  const branding = await readShownBranding(ctx).catch(() => withoutBranding);
  const offer = portal?.settings ?? everyLanguage;
  const frame = plainFrame({ site, req, files: room.files, offer, branding });
  return sendPage(res, room.loadRenderer, { page, frame }, { isFramed });
}

/** In a frame of the console for a member who sees the portal as a visitor would. */
export function sendProblem(at: At, problem: AppError): Promise<void> {
  const { site, req, res } = at;
  const isFramed = site.base !== '' && listCookieValues(req, site.cookie.viewAs).length > 0;
  return sendPlainPage(at, toProblemPage(problem, getRequestId(res)), undefined, isFramed);
}
