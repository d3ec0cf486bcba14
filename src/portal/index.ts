// The pages that a company's customers open: on its own domain, and below /portal/{slug}.
import type { RequestHandler } from 'express';
import type { Ctx, ReadingCtx } from '../core/ctx.ts';
import { createCache } from '../core/work/cache.ts';
import { openOwnSemaphore } from '../core/work/shared-semaphores.ts';
import { createTopicNotifications } from '../db/topic-notifications.ts';
import type { StreamOptions } from '../http/event-stream.ts';
import type { FailureLimit } from '../http/failure-limit.ts';
import type { PageAssets } from '../http/pages/page-assets.ts';
import { applyPendingHeaders } from '../http/pending-headers.ts';
import type { DemoPerson } from '../identity/sign-in.ts';
import type { SendCodeMail } from '../mail/index.ts';
import { createPdfWriter } from '../pdf/index.ts';
import { type NamedCustomer, nameCustomers, readEndpoints } from '../platform/index.ts';
import type { UsageCounter } from '../public/index.ts';
import { startVisitorMails } from './mails/send.ts';
import { createHasRecords } from './navigation.ts';
import { createProviders } from './providers.ts';
import { createRendererLoader } from './renderer.ts';
import type { Room } from './room.ts';
import { createPortalRouter, setSite } from './router.ts';
import { createSites, type Site } from './sites.ts';
import { type Endpoints, notFoundHere } from './visit.ts';

export { startReceipts } from './pay/receipts.ts';
export { findSite } from './router.ts';

type PortalOptions = {
  readonly failures: FailureLimit;
  readonly assets: PageAssets;
  readonly usage: UsageCounter;
  readonly sendMail: SendCodeMail;
  readonly streams: StreamOptions;
  /** Only for a demo whose listener is on a loopback address: anyone on this machine signs in as one of its customers. */
  readonly demo: DemoPerson | undefined;
};

/** Where a notification was lost. */
const noticedWithinMs = 10_000;
const endpointBytes = 16_777_216;

/** Pages of one session that follow a payment at once. */
const streamsOfSession = 4;
const maxStreams = 500;

function openRoom(
  ctx: ReadingCtx,
  { failures, assets, usage, sendMail, demo, streams }: PortalOptions,
): Room {
  const endpoints = createCache<{ readonly all: Endpoints }>({
    maxBytes: endpointBytes,
    countBytes: ({ all }) => JSON.stringify([...all.values()]).length,
  });
  return {
    ...{ ctx, failures, usage, sendMail, isDemo: demo !== undefined },
    now: demo?.businessTime ?? (() => ctx.clock.now()),
    sites: createSites(ctx),
    providers: createProviders(),
    files: {
      stylesheets: ['shared/tokens', 'portal/portal'].map((name) => `${assets.address}/${name}.css`),
      scripts: [`${assets.address}/shared/theme.js`, `${assets.address}/portal/portal.js`],
      icon: `${assets.address}/shared/icon.svg`,
    },
    loadRenderer: createRendererLoader(),
    loadEndpoints: async (tenant, portal) => {
      const key = `${tenant.organizationId} ${portal.document}`;
      const read = async () => ({ all: await readEndpoints(tenant, portal) });
      return (endpoints.findFresh(key) ?? (await endpoints.load(key, read))).all;
    },
    hasRecords: createHasRecords(ctx.clock),
    pdf: createPdfWriter(),
    streams: (ctx.openSemaphore ?? openOwnSemaphore)('streams of visitors', {
      maxRunning: maxStreams,
      maxRunningPerOwner: streamsOfSession,
    }),
    notices: createTopicNotifications(ctx, streams.pollMs ?? noticedWithinMs),
    stopping: streams.stopping ?? new AbortController().signal,
    nameCustomers: createNames(ctx.clock),
  };
}

/** What is around every page may be this old. */
const knownForMs = 60_000;
const nameBytes = 4_194_304;

function createNames(clock: Ctx['clock']): Room['nameCustomers'] {
  const names = createCache<readonly NamedCustomer[]>({
    maxBytes: nameBytes,
    ttl: { clock, ms: knownForMs },
  });
  return (tenant, portal, ids) =>
    names.load(JSON.stringify([tenant.organizationId, portal.document, ...ids]), () =>
      nameCustomers(tenant, portal, ids),
    );
}

/** The files that pages of a portal load. */
const ownAssets = /^\/assets\/[0-9a-f]{16}\/(?:shared|portal)\//;
/** With the public interface also those of its reference pages. */
const referenceAssets = /^\/assets\/[0-9a-f]{16}\/reference\//;
const publicInterface = /^\/api\/public(?:\/|$)/;

export type PortalHandlers = {
  /**
   * First of all: answers every request for another host than the service's own, but for those for the public
   * interface on a domain that serves it.
   */
  readonly byHost: RequestHandler;
  /** Mount it at /portal/:slug. */
  readonly bySlug: RequestHandler;
};

/** The handlers throw 404 where no portal is. */
export function createPortal(ctx: ReadingCtx, options: PortalOptions): PortalHandlers {
  const room = openRoom(ctx, options);
  const router = createPortalRouter(room);
  const serveSite = (site: Site | undefined, ...[req, res, next]: Parameters<RequestHandler>) => {
    if (site?.publicApi === true && publicInterface.test(req.path)) {
      setSite(res, site);
      return next();
    }
    applyPendingHeaders(res);
    if (site === undefined) throw notFoundHere();
    if (ownAssets.test(req.path) || (site.publicApi && referenceAssets.test(req.path))) {
      req.url = req.url.slice('/assets'.length);
      return options.assets.handler(req, res, () => next(notFoundHere()));
    }
    setSite(res, site);
    return router(req, res, next);
  };
  return {
    byHost: (req, res, next) => {
      const found = room.sites.ofHost(req);
      return found === 'own' ? next() : found.then((site) => serveSite(site, req, res, next));
    },
    bySlug: async (req, res, next) => {
      const site = await room.sites.ofSlug(String(req.params['slug'] ?? ''));
      if (site === undefined) throw notFoundHere();
      setSite(res, site);
      return router(req, res, next);
    },
  };
}

/** Sends the mails that visitors ordered. `now`: by which what is due is late. */
export const startOrderedMails = (
  ctx: ReadingCtx,
  now: () => Date = () => ctx.clock.now(),
  options?: Parameters<typeof startVisitorMails>[2],
) =>
  startVisitorMails(
    ctx,
    { now, nameCustomers, loadRenderer: createRendererLoader(), pdf: createPdfWriter() },
    options,
  );
