// The account's HTTP server. Handlers run in this order: injected faults, sign-in, the concurrency limit,
// what the control interface has put, then the services.
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { AsyncJobs } from './async/jobs.ts';
import { acceptAsync, asyncRoutes } from './async/routes.ts';
import type { AuditTrail } from './audit-trail.ts';
import type { Clock } from './clock.ts';
import type { Misbehaviour } from './control/misbehaviour.ts';
import { hasCode } from './database/account-database.ts';
import type { QuerySettings } from './database/snapshot.ts';
import type { FaultInjector } from './faults.ts';
import type { Governance } from './governance.ts';
import { recordRoutes } from './records/routes.ts';
import type { WriteSettings } from './records/write-record.ts';
import type { AccessTokens } from './sign-in/access-tokens.ts';
import { getIntegration } from './sign-in/caller.ts';
import type { Integrations } from './sign-in/integrations.ts';
import { handleTokenRequest, TOKEN_PATH } from './sign-in/token-endpoint.ts';
import type { Dataset } from './suiteql/datasets.ts';
import { handleDataset, handleSuiteql, listDatasets } from './suiteql/route.ts';
import type { Switches } from './switches.ts';
import { commonHeaders, RestError, sendJsonBody, sendRestError, unexpectedError } from './wire.ts';

export type ServerParts = {
  accountId: string;
  clock: Clock;
  audit: AuditTrail;
  faults: FaultInjector;
  tokens: AccessTokens;
  integrations: Integrations;
  governance: Governance;
  query: QuerySettings;
  writes: WriteSettings;
  jobs: AsyncJobs;
  datasets: readonly Dataset[];
  /** Present when the account has a control interface. */
  misbehaviour?: Misbehaviour | undefined;
};

const MAX_BODY_SIZE = '2mb';
const RECORD_PATH = '/services/rest/record/v1';

/**
 * Creates the account's Express app. RestErrors that its handlers throw become error responses and entries of
 * the audit trail.
 */
export function createAccountApp(parts: ServerParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(commonHeaders, parts.faults.handler, express.text({ type: () => true, limit: MAX_BODY_SIZE }));
  const { handlers = [], traffic } = parts.misbehaviour ?? {};
  if (traffic) app.use(traffic.handler);
  app.post(TOKEN_PATH, ...handlers, (request, response) => handleTokenRequest(parts, request, response));
  app.use('/services/rest', parts.tokens.authenticate, parts.governance.handler, ...handlers, handleOptions);
  app.post('/services/rest/query/v1/suiteql', (request, response) =>
    handleSuiteql(parts.query, request, response),
  );
  app.get('/services/rest/query/v1/dataset', (request, response) =>
    listDatasets(parts.datasets, request, response),
  );
  app.get('/services/rest/query/v1/dataset/:id/result', (request, response) =>
    handleDataset(parts.query, parts.datasets, request, response),
  );
  app.get('/services/rest/system/v1/serverTime', (_request, response) =>
    sendJsonBody(response, 200, 'application/json; charset=UTF-8', {
      serverTime: parts.query.businessTime().toISOString(),
    }),
  );
  app.get('/services/rest/system/v1/governanceLimits', (_request, response) =>
    sendJsonBody(
      response,
      200,
      'application/json; charset=UTF-8',
      parts.governance.limits(getIntegration(response)),
    ),
  );
  app.use('/services/rest/async/v1', asyncRoutes(parts.jobs));
  app.use(RECORD_PATH, acceptAsync(parts.jobs), recordRoutes(parts.query, parts.writes));
  app.use((request) => {
    throw notFound(request);
  });
  app.use(createErrorHandler(parts.audit, parts.query.switches));
  return app;
}

/**
 * The record service alone, for asynchronous requests: those have passed sign-in and the limits when they are
 * run.
 */
export function createRecordApp({
  query,
  writes,
  audit,
}: Pick<ServerParts, 'query' | 'writes' | 'audit'>): Express {
  const app = express();
  app.use(RECORD_PATH, recordRoutes(query, writes));
  app.use(createErrorHandler(audit, query.switches));
  return app;
}

const handleOptions: RequestHandler = (request, response, next) => {
  if (request.method === 'OPTIONS') response.status(204).end();
  else next();
};

function notFound(request: Request): RestError {
  return new RestError(404, {
    detail: `The resource ${request.path} does not exist.`,
    'o:errorUrl': request.path,
    'o:errorCode': 'NONEXISTENT_ID',
  });
}

function createErrorHandler(audit: AuditTrail, switches: Switches): ErrorRequestHandler {
  return async (error: unknown, request, response, _next) => {
    const restError = error instanceof RestError ? error : (bodyParserError(error) ?? unexpectedError(error));
    audit.record(`${request.method} ${request.originalUrl}`, restError.status, restError.reason);
    if (response.headersSent || (switches.timedOutQuery === 'disconnect' && isTimeout(error)))
      response.destroy();
    else await sendRestError(response, restError);
  };
}

/** PostgreSQL cancelled a query that took too long. */
const isTimeout = (error: unknown): boolean =>
  hasCode(error, '57014') || (error instanceof Error && error.cause !== undefined && isTimeout(error.cause));

/** Express could not read the body: too long, truncated, or in an unsupported content encoding. */
function bodyParserError(error: unknown): RestError | undefined {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 0;
  if (status < 400 || status >= 500) return undefined;
  const shown = status === 413 ? 413 : 400;
  return new RestError(
    shown,
    { detail: 'Invalid content in the request body.', 'o:errorCode': 'INVALID_CONTENT' },
    { cause: error },
  );
}
