// The door of the public interface: its router, and what those who define versions need to check, bind and describe them.
import { type Request, type RequestHandler, Router } from 'express';
import type { Ctx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import { allowOrigin, methods } from './cross-origin.ts';
import { answer, openPublicService } from './serve.ts';
import type { Usage } from './usage.ts';

export { readAvailable } from './available.ts';
export { type Available, bindDocument } from './bind.ts';
export { type Change, compareVersions } from './compare.ts';
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

export type PublicRouterOptions = {
  /** Answers `GET /openapi/{version}/preview`, the same for everyone. */
  readonly referencePage: RequestHandler;
  /** The value of the cookie of someone signed in at the management interface, if there is one. */
  readonly sessionCookie: (req: Request) => string | undefined;
  readonly usage: Usage;
};

/** To be mounted at /api/public, behind the request log and before the error handler. */
export function publicRouter(ctx: Ctx, { referencePage, sessionCookie, usage }: PublicRouterOptions): Router {
  const service = openPublicService(ctx);
  const router = Router({ caseSensitive: true });
  router.use((req, res, next) => {
    allowOrigin(req, res, ctx.settings.corsOrigins);
    if (req.method === 'GET' || req.method === 'HEAD') return next();
    res.setHeader('Allow', methods);
    if (req.method === 'OPTIONS') return void res.status(204).end();
    throw new AppError('BAD_REQUEST', 'The public interface only reads', {
      status: 405,
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed methods: ${methods}` }],
    });
  });
  router.get('/openapi/:version/preview', referencePage);
  router.use((req, res) => {
    let target = { version: '', resource: '' };
    return answer(service, {
      req,
      res,
      baseUrl: req.baseUrl,
      session: () => sessionCookie(req),
      onCaller: ({ id, organization }) => {
        res.locals['logged'] = { organizationId: organization.id, credential: { kind: 'api-key', id } };
        res.once('close', () => usage.note({ apiKeyId: id, ...target }, res.statusCode));
      },
      onTarget: (version, resource) => {
        target = { version, resource };
      },
      onMember: ({ organization, credential }) => {
        res.locals['logged'] = { organizationId: organization.id, credential };
      },
    });
  });
  return router;
}
