// Entry point of the public interface: its request handler, and what the management interface needs to
// validate, bind and describe versions.
import type { Request, RequestHandler, Response } from 'express';
import type { ReadingCtx, TenantCtx } from '../core/ctx.ts';
import { AppError } from '../core/errors.ts';
import type { ServedRoute } from '../core/served-route.ts';
import type { FoundApiKey } from '../identity/api-key.store.ts';
import type { DocumentBrand } from './document/serve-document.ts';
import { allowedMethods, allowOrigin } from './http/cross-origin.ts';
import type { OwnDomain } from './http/exchange.ts';
import { serveRequest } from './serve/serve.ts';
import { createPublicService } from './serve/service.ts';
import type { ApiCall, UsageCounter } from './serve/usage.ts';

export {
  allColumnTypes,
  type ColumnType,
  isListType,
  type LineField,
  type ListType,
} from '../warehouse/columns.ts';
export { type ChangesSince, countChanges, listFeeds, readFirstChanges } from './changes/follow.ts';
export type { DocumentBrand } from './document/serve-document.ts';
export type { DraftSource } from './draft/described.ts';
export { draftDocument } from './draft/draft-document.ts';
export {
  acquireExportSlot,
  closeQueues,
  createReadEngine,
  findLivingMasks,
  getNewestRecordReader,
  getRecordReader,
  getRecordTools,
  getVersionReader,
  publicMetrics,
  readRecordTypeFacts,
} from './engine.ts';
export { describeVersion } from './openapi/describe-version.ts';
export { countReadsToTry, type Proof, proveVersion } from './proof/prove.ts';
export { sampleExamples } from './proof/sample-examples.ts';
export { listIndexes } from './read/sql/indexes.ts';
export type { FileForm } from './records/file-stream.ts';
export type { QueryProblem, RecordQuery } from './records/record-query.ts';
export type { SummaryColumn, SummaryQuery } from './records/record-summary.ts';
export type { RecordReader } from './records/records.ts';
export { allRows, type CallerRights } from './records/records-file.ts';
export { toQueryParameters } from './records/version-records.ts';
export { startUsageCounter, type UsageCounter } from './serve/usage.ts';
export type { RecordTools, ToolAccess } from './tools/record-tools.ts';
export {
  DescribeInput,
  DescribeOutput,
  GetInput,
  GetOutput,
  QueryInput,
  QueryOutput,
  SummarizeInput,
  SummarizeOutput,
} from './tools/tool-inputs.ts';
export { createVersionTools, type VersionTool } from './tools/version-tools.ts';
export { readAvailable, readAvailableType } from './version/available.ts';
export { type Available, bindDocument, boundSource, choosePlainColumn, toSource } from './version/bind.ts';
export { compareVersions, type VersionChange } from './version/compare.ts';
export type { DefinitionProblem } from './version/definition-problems.ts';
export { fittingTypes } from './version/fitting-types.ts';
export { ensureMaskSecret } from './version/mask-secret.ts';
export { maskedSql } from './version/masks.ts';
export {
  aggregateFunctions,
  type Bindings,
  EndpointDefinition,
  type GroupDefinition,
  masks,
  operators,
  periods,
  type RecordTypeBinding,
  SchemaDocument,
} from './version/schema-document.ts';
export { listShownColumns } from './version/shown-columns.ts';
export { validateDocument } from './version/validate.ts';
export { parseFilterValue } from './version/values.ts';
export { findPredecessor, isVersionLabel } from './version/versions.store.ts';

/** Counted in place of the status when the response was cut off before its end. */
export const abortedStatus = 500;

export type PublicOptions = {
  /** Serves `GET /openapi/{version}/preview`, the same page for everyone. */
  readonly referencePage: RequestHandler;
  /** Values of the management session cookie. */
  readonly sessionCookies: (req: Request) => readonly string[];
  /** The response headers so far, as alternating names and values; error responses also carry them. */
  readonly listPendingHeaders: (res: Response) => string[];
  /** Applies the collected headers to the response, for handlers that set their own headers. */
  readonly applyHeaders: (res: Response) => void;
  /** The domain of an organization at which the request arrived; undefined at the address of the service. */
  readonly findDomain?: (res: Response) => OwnDomain | undefined;
  /** What documents show of the organization. */
  readonly readBrand: (tenant: TenantCtx) => Promise<DocumentBrand>;
  readonly usage: UsageCounter;
  /** Ends the streams of changes once aborted. */
  readonly stopping?: AbortSignal | undefined;
  readonly onServed: (res: Response, served: ServedRoute) => void;
};

const toLogged = ({ id, organization, tokenSubject }: FoundApiKey) => ({
  organizationId: organization.id,
  credential: { kind: tokenSubject === undefined ? 'api-key' : 'token', id },
});

const toCaller = ({ id, tokenSubject = '' }: FoundApiKey): Omit<ApiCall, 'version' | 'resource'> => ({
  apiKeyId: id,
  subject: tokenSubject,
});

const preview = /^\/openapi\/[^/]+\/preview\/?$/;

/**
 * Mount at /api/public, after the request log and before the error handler. The handler throws 405 for
 * methods other than GET, HEAD and OPTIONS; other failures become rejections (see `serveRequest`).
 */
export function publicHandler(
  ctx: ReadingCtx,
  { referencePage, sessionCookies, listPendingHeaders, applyHeaders, ...options }: PublicOptions,
): RequestHandler {
  const { findDomain, readBrand, usage, stopping, onServed } = options;
  const service = createPublicService(ctx, readBrand, stopping);
  return (req, res, next) => {
    const headers = listPendingHeaders(res);
    allowOrigin({ req, headers }, ctx.settings.corsOrigins);
    if (req.method !== 'GET' && req.method !== 'HEAD') return rejectMethod(req, res, headers);
    if (req.url.includes('/openapi/') && preview.test(req.path)) {
      applyHeaders(res);
      return referencePage(req, res, next);
    }
    let target = { version: '', resource: '' };
    let caller: ReturnType<typeof toCaller> | undefined;
    let isStream = false;
    const domain = findDomain?.(res);
    const slot = service.concurrency.acquire();
    if (slot instanceof Promise) return slot;
    res.once('close', () => {
      slot.release();
      if (caller !== undefined)
        usage.record(
          { ...caller, ...target },
          isStream || res.writableFinished ? res.statusCode : abortedStatus,
        );
    });
    return serveRequest(service, {
      req,
      res,
      headers,
      baseUrl: req.baseUrl,
      domain,
      // Members sign in at the address of the service alone.
      sessions: () => (domain === undefined ? sessionCookies(req) : []),
      admitCaller: (key) => {
        res.locals['logged'] = toLogged(key);
        caller = toCaller(key);
        return slot.assignTo(key.organization.id);
      },
      onTarget: (version, resource) => {
        target = { version, resource };
      },
      onMember: ({ organization, credential }) => {
        res.locals['logged'] = { organizationId: organization.id, credential };
      },
      onStream: () => {
        isStream = true;
        slot.release();
      },
      onServed: (served) => onServed(res, served),
    });
  };
}

function rejectMethod({ method }: Request, res: Response, headers: string[]): void {
  headers.push('Allow', allowedMethods);
  if (method !== 'OPTIONS') {
    throw new AppError('BAD_REQUEST', 'The public interface is read-only', {
      status: 405,
      details: [{ path: '', code: 'method_not_allowed', message: `Allowed methods: ${allowedMethods}` }],
    });
  }
  res.writeHead(204, headers);
  res.end();
}
