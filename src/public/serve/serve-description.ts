// Serves the OpenAPI description of a version: the stored text of a published one, or that of a draft,
// generated at each request.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal, TenantCtx } from '../../core/ctx.ts';
import { toQueryText } from '../../core/query-text.ts';
import { isRestricted, type RecordAccess } from '../../core/record-access.ts';
import { inTransaction } from '../../db/transaction.ts';
import type { FoundApiKey } from '../../identity/api-key.store.ts';
import { negotiateMediaType, type PublicExchange } from '../http/exchange.ts';
import { addCacheHeaders, addDeprecation, sendJsonText, textBody } from '../http/response.ts';
import { unauthenticated } from '../load/admission.ts';
import { describeVersion } from '../openapi/describe-version.ts';
import { restrictDescription } from '../openapi/restrict-description.ts';
import { parameterError, parameterProblem, parseQuery } from '../read/request.ts';
import { readAvailable } from '../version/available.ts';
import { bindDocument } from '../version/bind.ts';
import type { CompiledSchema } from '../version/compile.ts';
import type { DescriptionPart } from '../version/content-cache.ts';
import { readableEndpoints } from '../version/narrow.ts';
import { assertNotRetired, getPublishedVersion, notFoundError } from '../version/published.ts';
import { findDraft, findPredecessor, isVersionLabel } from '../version/versions.store.ts';
import { assertMayReadDraft, authenticateMember, toScopeKey } from './authorize.ts';
import type { PublicService } from './service.ts';

/**
 * For the reference page, used by a member who is signed in at the management interface. Rejects as
 * `authenticateMember` and `serveDescription` do.
 */
export async function serveDescriptionToMember(
  service: PublicService,
  exchange: PublicExchange,
  sessions: readonly string[],
  version: string,
): Promise<void> {
  const { ctx, runLookup } = service;
  const member = await runLookup(unauthenticated, () =>
    authenticateMember(ctx, sessions, exchange.req.headers),
  );
  exchange.onMember(member);
  if (version === '') throw notFoundError();
  addCacheHeaders(exchange);
  const organizationId = member.organization.id;
  await runLookup(organizationId, () =>
    serveDescription(service, exchange, { ...ctx, organizationId }, member, version),
  );
}

/**
 * What the key or member may read of a version is described. The permission of a member was already checked.
 * Rejects with 403 for a draft that the key may not read, 404, 410 for a retired version, 406, and 400 for
 * bad parameters.
 */
export async function serveDescription(
  service: PublicService,
  exchange: PublicExchange,
  tenant: TenantCtx,
  reader: FoundApiKey | Principal,
  version: string,
): Promise<void> {
  const { req, headers } = exchange;
  const key = 'access' in reader ? reader : null;
  const scopeKey = key === null ? '' : toScopeKey(key);
  headers.push('Vary', 'Cookie');
  if (asksForDraft(toQueryText(req.url ?? ''))) {
    if (key !== null) assertMayReadDraft(key);
    const text = await describeDraft(tenant, version);
    assertDescriptionParameters(req);
    return sendJsonText(
      exchange,
      [
        tenant.organizationId,
        scopeKey,
        'draft',
        version,
        createHash('sha256').update(text).digest('base64url'),
      ],
      textBody(text),
    );
  }
  const state = await getPublishedVersion(service.engine, tenant, version);
  exchange.onTarget(state.version, '');
  assertNotRetired(state);
  const access = 'access' in reader ? reader.access : reader.reads;
  addDeprecation(exchange, state, access, null);
  assertDescriptionParameters(req);
  const { content } = service.engine;
  const part = partFor(await content.loadCompiled(tenant, state), access);
  await sendJsonText(
    exchange,
    [tenant.organizationId, part?.name ?? scopeKey, 'description', state.contentId],
    textBody(await content.loadDescription(tenant, state, part)),
  );
}

/** Null for a caller who may read the whole version as it is. */
function partFor(schema: CompiledSchema, access: RecordAccess): DescriptionPart | null {
  const readable = readableEndpoints(schema, access);
  if (!access.layers.some(isRestricted) && readable.every(({ key, contentKey }) => key === contentKey))
    return null;
  const name = createHash('sha256').update(JSON.stringify(readable.map(({ key }) => key)));
  return { name: name.digest('base64url'), of: (text) => restrictDescription(text, readable) };
}

/** In whatever encoding; an invalid value is rejected later. */
const asksForDraft = (query: string): boolean => new URLSearchParams(query).getAll('draft').includes('true');

async function describeDraft(tenant: TenantCtx, version: string): Promise<string> {
  const draft = isVersionLabel(version) ? await findDraft(tenant, version) : undefined;
  if (draft === undefined) throw notFoundError();
  const bindings = bindDocument(draft, await readAvailable(tenant));
  return describeVersion({
    version,
    name: draft.name,
    notes: draft.notes,
    endpoints: draft.endpoints,
    bindings,
    draft: true,
    serverUrl: tenant.settings.configuredUrl,
    previous:
      (await inTransaction(tenant, (tx) => findPredecessor(tx, tenant.organizationId, version))) ?? null,
  });
}

function assertDescriptionParameters(req: IncomingMessage): void {
  negotiateMediaType(req, ['application/json']);
  const query = parseQuery(toQueryText(req.url ?? ''));
  const draft = query.get('draft');
  if (draft !== undefined && (draft.length > 1 || (draft[0] !== 'true' && draft[0] !== 'false'))) {
    throw parameterError([parameterProblem('draft', 'invalid_value', '"draft" must be true or false')]);
  }
  const unknown = [...query.keys()].filter((name) => name !== 'draft').slice(0, 20);
  if (unknown.length > 0) {
    throw parameterError(
      unknown.map((name) =>
        parameterProblem(
          name,
          'unknown_parameter',
          `Unknown parameter "${name.slice(0, 80)}". The only parameter is "draft".`,
        ),
      ),
    );
  }
}
