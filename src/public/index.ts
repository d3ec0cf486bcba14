// The door of the public interface: its handler, and what those who define versions need to check, bind and describe them.
import type { Request, RequestHandler, Response } from 'express';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { Served } from '../core/served.ts';
import { allowOrigin, methods } from './cross-origin.ts';
import { answer, openPublicService } from './serve.ts';
import type { Usage } from './usage.ts';

export { readAvailable } from './available.ts';
export { type Available, bindDocument, sourceOf } from './bind.ts';
export { type Change, compareVersions } from './compare.ts';
export { endWaiting, publicFigures } from './engine.ts';
export { indexesOf } from './indexes.ts';
export { describeVersion } from './openapi.ts';
export { type Proof, proveVersion } from './prove.ts';
export type { QueryProblem, RecordQuery } from './record-query.ts';
export { openRecords, type Records } from './records.ts';
export { type Bindings, EndpointDefinition, operators, SchemaDocument } from './schema-document.ts';
export { DescribeInput, GetInput, openRecordTools, QueryInput, type RecordTools, type ToolAccess } from './tools.ts';
export { openUsage, type Usage } from './usage.ts';
export { type Problem, validateDocument } from './validate.ts';
export { openVersionTools, type VersionTool } from './version-tools.ts';
export { findPredecessor } from './versions.store.ts';

/** Noted instead of the status of an answer that its caller has no whole of. */
const brokenOff = 500;

export type PublicOptions = {
  /** Answers `GET /openapi/{version}/preview`, the same for everyone. */
  readonly referencePage: RequestHandler;
  /** The value of the cookie of someone signed in at the management interface, if there is one. */
  readonly sessionCookie: (req: Request) => string | undefined;
  /** What the answer's head has so far, names and values in turns; an error's answer has whatever was added. */
  readonly headersOf: (res: Response) => string[];
  /** Sets them for a page that sets its own. */
  readonly settleHeaders: (res: Response) => void;
  readonly usage: Usage;
  readonly onServed: (res: Response, served: Served) => void;
};

const preview = /^\/openapi\/[^/]+\/preview\/?$/;

/** To be mounted at /api/public, behind the request log and before the error handler. */
export function publicHandler(
  ctx: Ctx,
  { referencePage, sessionCookie, headersOf, settleHeaders, usage, onServed }: PublicOptions,
): RequestHandler {
  const service = openPublicService(ctx);
  return (req, res, next) => {
    const headers = headersOf(res);
    allowOrigin({ req, headers }, ctx.settings.corsOrigins);
    if (req.method !== 'GET' && req.method !== 'HEAD') return refuseMethod(req, res, headers);
    if (req.url.includes('/openapi/') && preview.test(req.path)) {
      settleHeaders(res);
      return referencePage(req, res, next);
    }
    let target = { version: '', resource: '' };
    let apiKeyId: string | undefined;
    const place = service.places.enter();
    if (place instanceof Promise) return place;
    res.once('close', () => {
      place.leave();
      if (apiKeyId !== undefined) usage.note({ apiKeyId, ...target }, res.writableFinished ? res.statusCode : brokenOff);
    });
    return answer(service, {
      req,
      res,
      headers,
      baseUrl: req.baseUrl,
      session: () => sessionCookie(req),
      onCaller: ({ id, organization }) => {
        res.locals['logged'] = { organizationId: organization.id, credential: { kind: 'api-key', id } };
        apiKeyId = id;
        return place.belongsTo(organization.id);
      },
      onTarget: (version, resource) => {
        target = { version, resource };
      },
      onMember: ({ organization, credential }) => {
        res.locals['logged'] = { organizationId: organization.id, credential };
      },
      onServed: (served) => onServed(res, served),
    });
  };
}

function refuseMethod({ method }: Request, res: Response, headers: string[]): void {
  headers.push('Allow', methods);
  if (method !== 'OPTIONS') {
    throw new AppError('BAD_REQUEST', 'The public interface only reads', {
      status: 405,
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed methods: ${methods}` }],
    });
  }
  res.writeHead(204, headers);
  res.end();
}
