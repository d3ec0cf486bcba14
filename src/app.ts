// The composition root: builds the Express application and starts the background workers. Decides which
// router is mounted where.
import express, { type Express, type RequestHandler } from 'express';
import type { Ctx, ReadEngine, ReadingCtx } from './core/ctx.ts';
import { startRecurring } from './core/work/recurring.ts';
import { startSandboxWork } from './gateways/payments/sandbox/deliver-events.ts';
import { sessionCookies } from './http/cookies.ts';
import { createCsvLinks, type Links, linksBase } from './http/csv-link.ts';
import { adoptMessageClasses, type MessageClasses } from './http/driver/message-classes.ts';
import { errorHandler, notFoundHandler } from './http/errors.ts';
import type { StreamOptions } from './http/event-stream.ts';
import { createFailureLimit, type FailureLimit } from './http/failure-limit.ts';
import {
  createMcpRouter,
  mcpPath,
  mcpResource,
  metadataPaths,
  type ServeMcp,
  serveResourceMetadata,
} from './http/mcp.ts';
import { redirectToOwnHost } from './http/own-host.ts';
import { createClientPackage } from './http/pages/client-package.ts';
import { createConsole } from './http/pages/console-page.ts';
import { errorPages } from './http/pages/error-page.ts';
import { createInvitationPage } from './http/pages/invitation-page.ts';
import { type PageAssets, readPageAssets } from './http/pages/page-assets.ts';
import { createReferencePages } from './http/pages/reference-page.ts';
import { createSandboxPayPages } from './http/pages/sandbox-pay-page.ts';
import { createUnsubscribePages } from './http/pages/unsubscribe-page.ts';
import { createWelcomePage } from './http/pages/welcome-page.ts';
import {
  applyPendingHeaders,
  createSecurityHeaders,
  pendingHeaders,
  pendingHeadersMiddleware,
} from './http/pending-headers.ts';
import { assertHeaders, requestLog } from './http/request-log.ts';
import { type OnServed, platformBase, recordServed } from './http/served.ts';
import { isFromThisMachine } from './http/sign-in/browser.ts';
import { createDemo, type Demo } from './http/sign-in/demo.ts';
import { createSignInRouter } from './http/sign-in/router.ts';
import type { VerifyToken } from './identity/access-token.ts';
import type { DemoPerson } from './identity/sign-in.ts';
import { createCodeMailSender, type SendCodeMail, sendToMembers, startMailSender } from './mail/index.ts';
import { startSecretEndReports } from './platform/api-keys/report-secret-ends.ts';
import { maintainAllIndexes } from './platform/api-schemas/maintain-indexes.ts';
import { startPublicationWorker } from './platform/api-schemas/publication.ts';
import { startWarehouseUpgrades } from './platform/api-schemas/upgrade-warehouses.ts';
import { startAgentWork } from './platform/conversations/agent-work.ts';
import { startDomainChecks } from './platform/domains/recheck.ts';
import { findPortalSite, platformRouter, readDocumentBrand } from './platform/index.ts';
import { startDeletions } from './platform/organizations/finish-deletions.ts';
import { startPayWork } from './platform/pay/provider/worker.ts';
import { startWriteBackAlerts } from './platform/pay/write-back/alerts.ts';
import { startWriteBack } from './platform/pay/write-back/worker.ts';
import { startSubscriptions } from './platform/subscriptions/runner.ts';
import { readLinkState, resubscribe, unsubscribe } from './platform/subscriptions/unsubscribe.ts';
import { findLink } from './platform/view-links/open-link.ts';
import { startWebhooks } from './platform/webhooks/deliver.ts';
import {
  createPortal,
  findSite,
  type PortalHandlers,
  startOrderedMails,
  startReceipts,
} from './portal/index.ts';
import {
  createReadEngine,
  type PublicOptions,
  publicHandler,
  startUsageCounter,
  type UsageCounter,
} from './public/index.ts';
import { pruneTombstones, type Scheduler, startCertificateWatch, startScheduler } from './sync/index.ts';

export type AppOptions = {
  readonly trustProxy?: boolean | number | string;
  readonly streams?: StreamOptions;
  /** What all reads of the process share; by default an engine of its own. */
  readonly reads?: ReadEngine;
  /** Counts calls of the public interface, and visitors of the portal. The caller that passes it must stop it. */
  readonly usage?: UsageCounter;
  /** The classes from which the server creates its requests and responses. */
  readonly messages?: MessageClasses;
  /** Refuses requests that may write while the service moves to another database. */
  readonly gate?: RequestHandler;
  /** Called for every response. */
  readonly onServed?: OnServed | undefined;
  /**
   * The person as whom the welcome page signs in with one click. Only for a demo whose listener is on a
   * loopback address: the service asks for no other proof than a page of its own.
   */
  readonly demoOwner?: DemoPerson | undefined;
  /** Built files of the console; by default those in web/console/dist. */
  readonly consoleFolder?: string | undefined;
};

/**
 * Loads the verifier with the first token, because its dependencies are large and not needed at the start.
 */
function lazyTokenVerifier(ctx: Ctx): VerifyToken {
  let loaded: Promise<VerifyToken> | undefined;
  return async (token) => {
    loaded ??= import('./identity/access-token.ts').then(({ createTokenVerifier }) =>
      createTokenVerifier(ctx.settings.oidc, ctx, [mcpResource(ctx.settings.publicUrl)]),
    );
    return (await loaded)(token);
  };
}

/** Loads the MCP server with the first message, for the same reason. */
function lazyMcpServer(ctx: ReadingCtx, usage: UsageCounter): ServeMcp {
  let loaded: Promise<ServeMcp> | undefined;
  return async (...message) => {
    loaded ??= import('./mcp/server.ts').then(({ createMcpServer }) => createMcpServer(ctx, usage));
    return (await loaded)(...message);
  };
}

/** The documentation, which is read when it is first opened. */
function lazyDocs(assets: PageAssets): RequestHandler {
  let loaded: Promise<RequestHandler> | undefined;
  return async (...exchange) => {
    loaded ??= import('./http/docs/docs-site.ts').then(({ createDocsSite }) => createDocsSite(assets));
    return (await loaded)(...exchange);
  };
}

type Pages = {
  readonly demo: Demo | undefined;
  readonly codeMails: SendCodeMail;
  readonly portal: PortalHandlers;
  readonly usage: UsageCounter;
};

/**
 * The pages behind links in mails, those on which people sign in, the one on which the sandbox is paid, and the
 * files behind links to views.
 */
function mountSmallPages(
  app: Express,
  ctx: ReadingCtx,
  failures: FailureLimit,
  assets: PageAssets,
  { demo, codeMails, portal, usage }: Pages,
): void {
  const { smallPage: files } = assets;
  app.get('/invitations/accept', createInvitationPage(assets));
  const links = { find: readLinkState, unsubscribe, resubscribe };
  app.use('/unsubscribe', createUnsubscribePages(ctx, failures, links, files));
  const toViews: Links = { find: findLink, onRead: ({ id }) => usage.record({ linkId: id }, 200) };
  app.use(linksBase, createCsvLinks(ctx, failures, toViews, files));
  app.use('/pay/sandbox', createSandboxPayPages(ctx, failures, assets));
  app.use('/portal/:slug', portal.bySlug);
  app.use(
    '/auth',
    createSignInRouter(ctx, { failures, demo, sendCodeMail: sendToMembers(codeMails), files }),
  );
}

/** The page at /, the console and the documentation to which it leads, and the client. */
function mountConsole(
  app: Express,
  ctx: Ctx,
  failures: FailureLimit,
  assets: PageAssets,
  { consoleFolder, demo }: { consoleFolder: string | undefined; demo: Demo | undefined },
): void {
  const ownHost = redirectToOwnHost(ctx.settings.publicUrl);
  const welcome = createWelcomePage(ctx, failures, assets, (req) =>
    isFromThisMachine(req, ctx.settings) ? demo : undefined,
  );
  app.get('/', ownHost, welcome.page);
  app.get('/reference', welcome.openReference);
  app.use('/docs', lazyDocs(assets));
  app.get('/client.tgz', createClientPackage());
  app.use('/console', ownHost, createConsole(consoleFolder));
}

function mountPublic(
  app: Express,
  ctx: ReadingCtx,
  { usage, referencePage, stopping }: Pick<PublicOptions, 'usage' | 'referencePage' | 'stopping'>,
) {
  app.use(
    '/api/public',
    publicHandler(ctx, {
      referencePage,
      sessionCookies: (req) => sessionCookies(req, ctx.settings.publicUrl),
      listPendingHeaders: pendingHeaders,
      applyHeaders: applyPendingHeaders,
      findDomain: findSite,
      readBrand: readDocumentBrand,
      usage,
      stopping,
      onServed: recordServed,
    }),
  );
}

const isPortalOn =
  (ctx: Ctx) =>
  async (slug: string): Promise<boolean> =>
    (await findPortalSite(ctx, { slug })) !== undefined;

/** Behind everything else. */
function mountErrors(app: Express, ctx: Ctx, { smallPage }: PageAssets): void {
  app.use(notFoundHandler);
  app.use(errorPages(ctx, platformBase, smallPage));
  app.use(errorHandler(ctx.log));
}

/** Below them, requests may write: links count guesses. */
const writingPaths = ['/unsubscribe', '/pay/sandbox', '/auth', '/portal', linksBase, platformBase, mcpPath];

/** Mounts all routers, pages and middleware. Throws when a route definition is invalid. */
export function createApp(base: Ctx, options: AppOptions = {}): Express {
  const ctx: ReadingCtx = { ...base, reads: options.reads ?? createReadEngine(base) };
  const app = express();
  if (options.messages !== undefined) adoptMessageClasses(app, options.messages);
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('case sensitive routing', true);
  app.set('trust proxy', options.trustProxy ?? false);
  app.use(
    requestLog(ctx.log, ctx.clock, createSecurityHeaders(ctx.settings), options.onServed),
    assertHeaders,
  );
  const assets = readPageAssets();
  const pages = createReferencePages(assets);
  const usage = options.usage ?? startUsageCounter(ctx);
  const verify = lazyTokenVerifier(ctx);
  const failures = createFailureLimit(ctx);
  const codeMails = createCodeMailSender();
  const portal = createPortal(ctx, {
    ...{ failures, assets, usage, sendMail: codeMails, demo: options.demoOwner },
    streams: options.streams ?? {},
  });
  app.use(portal.byHost);
  // Before the others, so that public requests don't pass through their routers.
  mountPublic(app, ctx, { usage, referencePage: pages.public, stopping: options.streams?.stopping });
  app.use(pendingHeadersMiddleware);
  if (options.gate !== undefined) app.use(writingPaths, options.gate);
  app.use('/assets', assets.handler);
  app.get(`${platformBase}/openapi/preview`, pages.platform);
  const demo = options.demoOwner && createDemo(ctx, options.demoOwner, isPortalOn(ctx));
  mountSmallPages(app, ctx, failures, assets, { demo, codeMails, portal, usage });
  mountConsole(app, ctx, failures, assets, { consoleFolder: options.consoleFolder, demo });
  app.use(platformBase, platformRouter(ctx, verify, failures, options.streams ?? {}));
  app.get(metadataPaths, serveResourceMetadata(ctx));
  app.use(mcpPath, createMcpRouter(ctx, verify, failures, lazyMcpServer(ctx, usage)));
  mountErrors(app, ctx, assets);
  return app;
}

export type Background = {
  /** Undefined in a process that only serves requests. */
  readonly scheduler: Scheduler | undefined;
  stop(): Promise<void>;
};
/** With the scheduler, as `startBackground` starts it. */
type WholeBackground = Background & { readonly scheduler: Scheduler };

/**
 * For a process that only serves requests, while another process of the service runs the background workers:
 * `stop` ends the work that continues after responses and is resumed or asked for again; mails with codes go on.
 */
export const trackResponses = ({ work }: Pick<Ctx, 'work'>): Background => ({
  scheduler: undefined,
  stop: async () => {
    await Promise.all(
      (['answers', 'publications', 'portal-figures'] as const).map((kind) => work.stop(kind)),
    );
  },
});

const pruneEveryMs = 3_600_000;
const adoptEveryMs = 15_000;

/** Deletes expired rows and maintains indexes. Several processes may do so at the same time. */
async function prune(ctx: Ctx, stopping: AbortSignal): Promise<void> {
  await ctx.db.control.raw(
    'select prune_expired(), prune_subscriptions(), prune_mails(), prune_drift_events(), prune_api_key_usage(), prune_pay_events()',
  );
  await pruneTombstones(ctx, stopping);
  await maintainAllIndexes(ctx, stopping);
}

/**
 * Starts the background workers: due syncs and subscriptions, queued mail, pending domains, expiring
 * certificates, ended secrets of transferred API keys, publications, agent checks and messages that a stopped
 * process left unfinished, polling of payment providers, write-back of payments to ERPs, hourly cleanup,
 * upgrades of warehouses that an older version made, deletions that were interrupted, and messages to webhooks.
 */
export async function startBackground(
  base: Ctx,
  reads: ReadEngine = createReadEngine(base),
  now?: () => Date,
): Promise<WholeBackground> {
  const ctx: ReadingCtx = { ...base, reads };
  const scheduler = startScheduler(ctx);
  const pruning = startRecurring(
    pruneEveryMs,
    (stopping) => prune(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'expired rows could not be deleted'),
  );
  void pruning.tick();
  const adoption = startRecurring(
    adoptEveryMs,
    () => ctx.db.control.raw('select adopt_older_work()'),
    (error) => ctx.log.warn({ err: error }, 'work of an earlier version could not be adopted'),
  );
  void adoption.tick();
  const all = [
    ...[scheduler, pruning, adoption, trackResponses(ctx)],
    ...[startPublicationWorker(ctx), startSubscriptions(ctx), startMailSender(ctx), startDomainChecks(ctx)],
    ...[startCertificateWatch(ctx), startSecretEndReports(ctx), startAgentWork(ctx)],
    ...[startPayWork(ctx), startWriteBack(ctx), startWriteBackAlerts(ctx), startSandboxWork(ctx)],
    ...[startReceipts(ctx), startOrderedMails(ctx, now), startWebhooks(ctx)],
    ...[startWarehouseUpgrades(ctx), startDeletions(ctx)],
  ];
  return {
    scheduler,
    stop: async () => {
      await Promise.all(all.map((each) => each.stop()));
    },
  };
}
