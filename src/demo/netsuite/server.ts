// The account's HTTP surface in the order in which a request meets it: faults, sign-in, the limit of calls at once, then the services.
import express, { type ErrorRequestHandler, type Express, type Request, type RequestHandler } from 'express';
import type { Clock } from '../../core/clock.ts';
import type { Audit } from './audit.ts';
import type { QuerySettings } from './database/snapshot.ts';
import type { Faults } from './faults.ts';
import type { Governance } from './governance.ts';
import { recordRoutes } from './records/routes.ts';
import type { WriteSettings } from './records/write-record.ts';
import type { AccessTokens } from './sign-in/access-tokens.ts';
import type { Integrations } from './sign-in/integrations.ts';
import { answerTokenRequest, TOKEN_PATH } from './sign-in/token-endpoint.ts';
import { answerSuiteql } from './suiteql/route.ts';
import { commonHeaders, Refusal, sendJson, sendRefusal, unexpected } from './wire.ts';

export type ServerParts = {
  accountId: string;
  clock: Clock;
  audit: Audit;
  faults: Faults;
  tokens: AccessTokens;
  integrations: Integrations;
  governance: Governance;
  query: QuerySettings;
  writes: WriteSettings;
};

const LARGEST_BODY = '2mb';

export function makeServer(parts: ServerParts): Express {
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');
  app.use(commonHeaders, parts.faults.handler, express.text({ type: () => true, limit: LARGEST_BODY }));
  app.post(TOKEN_PATH, (request, response) => answerTokenRequest(parts, request, response));
  app.use('/services/rest', parts.tokens.check, parts.governance.handler, answerOptions);
  app.post('/services/rest/query/v1/suiteql', (request, response) => answerSuiteql(parts.query, request, response));
  app.get('/services/rest/system/v1/serverTime', (_request, response) =>
    sendJson(response, 200, 'application/json; charset=UTF-8', { serverTime: parts.query.businessTime().toISOString() }),
  );
  app.get('/services/rest/system/v1/governanceLimits', (_request, response) =>
    sendJson(response, 200, 'application/json; charset=UTF-8', parts.governance.limits()),
  );
  app.use('/services/rest/record/v1', recordRoutes(parts.query, parts.writes));
  app.use((request) => {
    throw notFound(request);
  });
  app.use(refuse(parts.audit));
  return app;
}

const answerOptions: RequestHandler = (request, response, next) => {
  if (request.method === 'OPTIONS') response.status(204).end();
  else next();
};

function notFound(request: Request): Refusal {
  return new Refusal(404, {
    detail: `The resource ${request.path} does not exist.`,
    'o:errorUrl': request.path,
    'o:errorCode': 'NONEXISTENT_ID',
  });
}

function refuse(audit: Audit): ErrorRequestHandler {
  return async (error: unknown, request, response, _next) => {
    const refusal = error instanceof Refusal ? error : (bodyRefusal(error) ?? unexpected(error));
    audit.note(`${request.method} ${request.originalUrl}`, refusal.status, refusal.reason);
    if (response.headersSent) response.destroy();
    else await sendRefusal(response, refusal);
  };
}

/** Express could not read the body: too long, cut off, or zipped in a way it doesn't know. */
function bodyRefusal(error: unknown): Refusal | undefined {
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 0;
  if (status < 400 || status >= 500) return undefined;
  const shown = status === 413 ? 413 : 400;
  return new Refusal(shown, { detail: 'Invalid content in the request body.', 'o:errorCode': 'INVALID_CONTENT' }, { cause: error });
}
