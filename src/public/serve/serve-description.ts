// Serves the OpenAPI description of a version: the stored text of a published one, or that of a draft,
// generated at each request.

import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Principal, TenantCtx } from '../../core/ctx.ts';
import { isRestricted, type RecordAccess } from '../../core/record-access.ts';
import { toQueryText } from '../../core/text/query-text.ts';
import { inTransaction } from '../../db/transaction.ts';
import type { FoundApiKey } from '../../identity/api-key.store.ts';
import { negotiateMediaType, type PublicExchange } from '../http/exchange.ts';
import { addCacheHeaders, addDeprecation, sendJsonText, textBody } from '../http/response.ts';
import { unauthenticated } from '../load/admission.ts';
import { type CollectionForm, collectionForms, toCollection } from '../openapi/collections.ts';
import { describeAt, describeVersion } from '../openapi/describe-version.ts';
import { restrictDescription } from '../openapi/restrict-description.ts';
import { parameterError, parameterProblem, parseQuery } from '../read/plan/request.ts';
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
    const form = readForm(req);
    const hash = createHash('sha256').update(text).digest('base64url');
    return send(exchange, tenant, { form, version, text, identity: [scopeKey, 'draft', version, hash] });
  }
  const state = await getPublishedVersion(service.engine, tenant, version);
  exchange.onTarget(state.version, '');
  assertNotRetired(state);
  const access = 'access' in reader ? reader.access : reader.reads;
  addDeprecation(exchange, state, access, null);
  const form = readForm(req);
  const { content } = service.engine;
  const part = partFor(await content.loadCompiled(tenant, state), access);
  const withExamples = readsExamples(reader, access);
  const text = await content.loadDescription(tenant, state, { part, withExamples });
  const who = part === null ? scopeKey : part.name;
  const identity = [
    withExamples === (part === null) ? who : `${who} ${withExamples}`,
    'description',
    state.contentId,
  ];
  await send(exchange, tenant, { form, version, text, identity });
}

type Served = {
  /** Null for the OpenAPI document itself. */
  readonly form: CollectionForm | null;
  readonly version: string;
  readonly text: string;
  readonly identity: readonly string[];
};

const fileEndings: Readonly<Record<CollectionForm, string>> = {
  postman: 'postman_collection.json',
  http: 'http',
};

async function send(
  exchange: PublicExchange,
  { organizationId, settings }: TenantCtx,
  { form, version, text, identity }: Served,
): Promise<void> {
  const { domain } = exchange;
  const own = [organizationId, ...identity, ...(domain === undefined ? [] : [domain.origin])];
  const named = domain === undefined ? text : describeAt(text, domain.origin);
  if (form === null) return sendJsonText(exchange, own, textBody(named));
  const baseUrl = `${domain?.origin ?? settings.publicUrl}/api/public`;
  exchange.headers.push('Content-Disposition', `attachment; filename="${version}.${fileEndings[form]}"`);
  const type = form === 'http' ? 'text/plain; charset=utf-8' : undefined;
  await sendJsonText(
    exchange,
    [...own, form, baseUrl],
    textBody(toCollection(form, text, { baseUrl, organizationId })),
    type,
  );
}

/** Examples are values of any records. Members see those under the strictest mask of all versions. */
const readsExamples = (reader: FoundApiKey | Principal, { layers, unmasked }: RecordAccess): boolean =>
  !layers.some(isRestricted) && ('access' in reader || (reader.permissions.has('record:read') && unmasked));

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
    serverUrl: tenant.settings.publicUrl,
    previous:
      (await inTransaction(tenant, (tx) => findPredecessor(tx, tenant.organizationId, version))) ?? null,
  });
}

const forms: readonly string[] = collectionForms;
const isForm = (text: string | undefined): text is CollectionForm =>
  text !== undefined && forms.includes(text);

/** The form that `as` asks for. Throws 406, and 400 for bad parameters. */
function readForm(req: IncomingMessage): CollectionForm | null {
  const query = parseQuery(toQueryText(req.url ?? ''));
  const draft = query.get('draft');
  if (draft !== undefined && (draft.length > 1 || (draft[0] !== 'true' && draft[0] !== 'false'))) {
    throw parameterError([parameterProblem('draft', 'invalid_value', '"draft" must be true or false')]);
  }
  const [form, ...others] = query.get('as') ?? [];
  if (form !== undefined && (others.length > 0 || !isForm(form)))
    throw parameterError([parameterProblem('as', 'invalid_value', `"as" must be ${forms.join(' or ')}`)]);
  const unknown = [...query.keys()].filter((name) => name !== 'draft' && name !== 'as').slice(0, 20);
  if (unknown.length > 0) {
    throw parameterError(
      unknown.map((name) =>
        parameterProblem(
          name,
          'unknown_parameter',
          `Unknown parameter "${name.slice(0, 80)}". The parameters are "draft" and "as".`,
        ),
      ),
    );
  }
  if (isForm(form)) return form;
  negotiateMediaType(req, ['application/json']);
  return null;
}
