// The composition root: from opened resources to an Express application and a scheduler. It decides what is mounted where.
import express, { type Express } from 'express';
import type { Ctx } from './core/ctx.ts';
import { recurring } from './core/recurring.ts';
import { startSandbox } from './gateways/payments/sandbox/deliver-events.ts';
import { giveUpPaying, lookAtSession, payByCard } from './gateways/payments/sandbox/pay-session.ts';
import { sessionCookie } from './http/authenticate.ts';
import { errorHandler, unknownAddress } from './http/errors.ts';
import type { StreamOptions } from './http/event-stream.ts';
import { headersOf, safeHeaders, settled, settleHeaders } from './http/first-headers.ts';
import { invitationPage } from './http/invitation-page.ts';
import { mcpPath, mcpResource, mcpRouter, metadataPaths, resourceMetadata, type ServeMcp } from './http/mcp.ts';
import { adoptMessages, type Messages } from './http/messages.ts';
import { referencePages } from './http/reference-page.ts';
import { checkHeaders, requestLog } from './http/request-log.ts';
import { sandboxPayPages } from './http/sandbox-pay-page.ts';
import { noteServed, type OnServed, platformBase } from './http/served.ts';
import { signInRouter } from './http/sign-in.ts';
import { unsubscribePages } from './http/unsubscribe-page.ts';
import type { VerifyToken } from './identity/access-token.ts';
import { startMailSender } from './mail/index.ts';
import { startAgentWork } from './platform/agents/agent-work.ts';
import { startPublications } from './platform/api-schemas/publication.ts';
import { tendAllIndexes } from './platform/api-schemas/tend-indexes.ts';
import { startDomainChecks } from './platform/domains/recheck.ts';
import { platformRouter } from './platform/index.ts';
import { startPayWork } from './platform/pay/pay-work.ts';
import { startWriteBack } from './platform/pay/write-back.ts';
import { startWriteBackNews } from './platform/pay/write-back-news.ts';
import { startSubscriptions } from './platform/subscriptions/runner.ts';
import { lookAtLink, resubscribe, unsubscribe } from './platform/subscriptions/unsubscribe.ts';
import { openUsage, publicHandler, type Usage } from './public/index.ts';
import { pruneTombstones, type Scheduler, startCertificateWatch, startScheduler } from './sync/index.ts';

export type AppOptions = {
  readonly trustProxy?: boolean | number | string;
  readonly streams?: StreamOptions;
  /** Where calls of the public interface are counted; whoever gives it stops it. */
  readonly usage?: Usage;
  /** What the server makes its requests and responses of. */
  readonly messages?: Messages;
  /** Hears of every answer. */
  readonly onServed?: OnServed | undefined;
};

/** Loaded with the first token: what stands behind it is large, and a start needs none of it. */
function tokenVerifier(ctx: Ctx): VerifyToken {
  let opened: Promise<VerifyToken> | undefined;
  return async (token) => {
    opened ??= import('./identity/access-token.ts').then(({ openTokenVerifier }) =>
      openTokenVerifier(ctx.settings.oidc, ctx, [mcpResource(ctx.settings.publicUrl)]),
    );
    return (await opened)(token);
  };
}

/** Loaded with the first message, for the same reason. */
function mcpServer(ctx: Ctx, usage: Usage): ServeMcp {
  let opened: Promise<ServeMcp> | undefined;
  return async (...message) => {
    opened ??= import('./mcp/server.ts').then(({ openMcp }) => openMcp(ctx, usage));
    return (await opened)(...message);
  };
}

export function createApp(ctx: Ctx, options: AppOptions = {}): Express {
  const app = express();
  if (options.messages !== undefined) adoptMessages(app, options.messages);
  app.disable('x-powered-by');
  app.set('etag', false);
  app.set('case sensitive routing', true);
  app.set('trust proxy', options.trustProxy ?? false);
  app.use(requestLog(ctx.log, ctx.clock, safeHeaders(), options.onServed), checkHeaders);
  const pages = referencePages();
  const usage = options.usage ?? openUsage(ctx);
  const verify = tokenVerifier(ctx);
  // First among its neighbours: each of them would look at every public request.
  app.use(
    '/api/public',
    publicHandler(ctx, { referencePage: pages.public, sessionCookie, headersOf, settleHeaders, usage, onServed: noteServed }),
  );
  app.use(settled);
  app.use('/reference-assets', pages.assets);
  app.get('/', (_req, res) => res.redirect(302, `${platformBase}/openapi/preview`));
  app.get(`${platformBase}/openapi/preview`, pages.platform);
  const invitation = invitationPage();
  app.use('/invitation-assets', invitation.assets);
  app.get('/invitations/accept', invitation.page);
  app.use('/unsubscribe', unsubscribePages(ctx, { look: lookAtLink, unsubscribe, resubscribe }, invitation.stylesheet));
  const paying = sandboxPayPages(ctx, { look: lookAtSession, pay: payByCard, giveUp: giveUpPaying }, invitation.stylesheet);
  app.use('/pay-assets', paying.assets);
  app.use('/pay/sandbox', paying.pages);
  app.use('/auth', signInRouter(ctx));
  app.use(platformBase, platformRouter(ctx, verify, options.streams ?? {}));
  app.get(metadataPaths, resourceMetadata(ctx));
  app.use(mcpPath, mcpRouter(ctx, verify, mcpServer(ctx, usage)));
  app.use(unknownAddress);
  app.use(errorHandler(ctx.log));
  return app;
}

export type Background = { readonly scheduler: Scheduler; stop(): Promise<void> };

const pruneEveryMs = 3_600_000;

/** Takes away what nobody asks for any more; another process doing the same does no harm. */
async function prune(ctx: Ctx, stopping: AbortSignal): Promise<void> {
  await ctx.db.control.raw(
    'select prune_expired(), prune_subscriptions(), prune_mails(), prune_drift_events(), prune_api_key_usage(), prune_pay_events()',
  );
  await pruneTombstones(ctx, stopping);
  await tendAllIndexes(ctx, stopping);
}

/**
 * What works without being asked: due syncs and subscriptions, queued mail, pending domains, certificates that end, publications, checks of
 * agents and messages that a stopped process left unfinished, payments that providers are asked about and that ERPs are told of, and tidying up.
 */
export async function startBackground(ctx: Ctx): Promise<Background> {
  const scheduler = startScheduler(ctx);
  const publications = startPublications(ctx);
  const mailSender = startMailSender(ctx);
  const domainChecks = startDomainChecks(ctx);
  const certificates = startCertificateWatch(ctx);
  const agents = startAgentWork(ctx);
  const subscriptions = startSubscriptions(ctx);
  const pay = [startPayWork(ctx), startWriteBack(ctx), startWriteBackNews(ctx), startSandbox(ctx)];
  const pruning = recurring(
    pruneEveryMs,
    (stopping) => prune(ctx, stopping),
    (error) => ctx.log.warn({ err: error }, 'expired rows could not be taken away'),
  );
  void pruning.tick();
  const all = [scheduler, publications, subscriptions, mailSender, domainChecks, certificates, agents, ...pay, pruning];
  return {
    scheduler,
    stop: async () => {
      await Promise.all(all.map((each) => each.stop()));
    },
  };
}
