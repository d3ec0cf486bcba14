// Queries that define record types. The ERP runs one before it is stored, so it could be read at least once.
import { ErpError, type RecordTypeMetadata } from '../../connectors/connector.ts';
import { type QuerySource, querySourceRefusals } from '../../connectors/discovery.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { type ErrorDetail, invalid } from '../../core/errors.ts';
import { violatesConstraint } from '../../db/pg-errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import type { PageQuery } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import {
  connectionOf,
  findDescription,
  namePrefix,
  readMetadataStatus,
  requireFullRun,
  writeDescriptions,
} from '../../sync/index.ts';
import { findTypesOf } from '../connections/connections.service.ts';
import { explainMissingMetadata } from '../connections/missing-metadata.ts';
import { metadataFailure, metadataTimeoutMs } from '../connections/record-types.service.ts';
import { getConnector } from '../connections/test-connection.service.ts';
import { assertQuota } from '../quotas.ts';
import { getterOf, listerOf } from '../rows.ts';
import type { ErpQueryInput, NewErpQuery } from './queries.schemas.ts';
import * as store from './queries.store.ts';

/** Operations of the public interface have these names next to the records' ids. */
const reservedNames = new Set(['changes', 'summary']);

const view = ({
  name,
  label,
  query,
  key_column: keyColumn,
  modified_column: modifiedColumn,
  created_at,
  updated_at,
}: store.QueryRow) => ({
  // Without the name of its connection.
  ...{ name: name.slice(name.indexOf(':') + 1), label, query, keyColumn, modifiedColumn },
  createdAt: instant(created_at),
  updatedAt: instant(updated_at),
});

const refusal = (title: string, path: string, code: string, message: string) =>
  invalid(title, [{ path, code, message }]);
const taken = () =>
  refusal(
    'The name is taken',
    'name',
    'taken',
    'Another record type has this name; names that differ in case alone count as the same',
  );

const getRow = getterOf(store.findQuery, 'Query');

/** Those of the connection of this name. Throws 404 when there is none, as all of these do. */
export async function listErpQueries(
  ctx: RequestCtx,
  connection: string,
  page: PageQuery,
  q: string | undefined,
) {
  const types = await findTypesOf(ctx, connection);
  return listerOf(store.listQueries, view)(ctx, page, { types, q });
}

/** The record type that a query of this connection defines. */
const toTypeName = async (ctx: RequestCtx, connection: string, name: string): Promise<string> =>
  namePrefix(await findTypesOf(ctx, connection)) + name;

/** Throws 404 for an unknown query. */
export async function getErpQuery(ctx: RequestCtx, connection: string, query: string) {
  const name = await toTypeName(ctx, connection, query);
  return inTransaction(ctx, async (tx) => view(await getRow(tx, ctx, name)));
}

const paths = new Map<string, keyof typeof querySourceRefusals>([
  [querySourceRefusals.query, 'query'],
  [querySourceRefusals.keyColumn, 'keyColumn'],
  [querySourceRefusals.modifiedColumn, 'modifiedColumn'],
]);

/** Runs the query in the ERP. Throws 422 for an unsuitable query or column; 422 and 503 as a refresh does. */
async function describe(ctx: RequestCtx, source: QuerySource, last: RecordTypeMetadata | null) {
  const connector = await getConnector(ctx, connectionOf(source.name));
  const timeout = AbortSignal.timeout(metadataTimeoutMs);
  const signal = AbortSignal.any([ctx.disconnected, timeout]);
  if (connector.describeQuery === undefined)
    throw refusal(
      'The query cannot be used',
      'query',
      'query_unsuitable',
      'The ERP of this connection has no query language',
    );
  return connector.describeQuery(source, signal, last).catch((error: unknown) => {
    const path = error instanceof ErpError && !signal.aborted ? paths.get(error.code) : undefined;
    if (!(error instanceof ErpError) || path === undefined) throw metadataFailure(error, timeout.aborted);
    throw refusal('The query cannot be used', path, error.code.toLowerCase(), error.message);
  });
}

async function assertNameIsFree(tx: Tx, ctx: RequestCtx, name: string): Promise<void> {
  if (reservedNames.has(name.slice(name.indexOf(':') + 1).toLowerCase()))
    throw refusal(
      'The name is reserved',
      'name',
      'reserved',
      `Choose a name other than ${[...reservedNames].join(' and ')}`,
    );
  if (await store.hasRecordTypeNamed(tx, ctx.organizationId, name)) throw taken();
}

const missingMetadata = (reason: Omit<ErrorDetail, 'path'>) =>
  invalid("The ERP's record types are not known yet", [{ path: '', ...reason }]);

/** Throws 422 for a taken or reserved name, a full quota, or as `describe` does, which may throw 503. */
export async function createErpQuery(
  ctx: RequestCtx,
  connection: string,
  { name: query, ...input }: NewErpQuery,
) {
  const types = await findTypesOf(ctx, connection);
  if ((await readMetadataStatus(ctx, types)) === undefined)
    throw missingMetadata(await explainMissingMetadata(ctx, types));
  const name = namePrefix(types) + query;
  await inTransaction(ctx, (tx) => assertNameIsFree(tx, ctx, name));
  const description = await describe(ctx, { name, ...input }, null);
  return inTransaction(ctx, async (tx) => {
    await assertQuota(tx, ctx, 'queries');
    await assertNameIsFree(tx, ctx, name);
    await store.insertQuery(tx, ctx.organizationId, name, input);
    await writeDescriptions(tx, ctx.organizationId, [description], []);
    await writeAudit(tx, ctx, 'erp-query.create', ['erp-query', null], { name, ...input });
    return view(await getRow(tx, ctx, name));
  }).catch((error: unknown) => {
    throw violatesConstraint(error, 'query_name_is_unique') ? taken() : error;
  });
}

/** Throws 422 `in_use` for another key under a sync, `run_open` while a run may read by the former query. */
async function assertMayChange(
  tx: Tx,
  ctx: RequestCtx,
  before: store.QueryRow,
  { keyColumn }: ErpQueryInput,
): Promise<void> {
  const config = await store.lockConfig(tx, ctx.organizationId, before.name);
  if (config === undefined) return;
  if (keyColumn !== before.key_column)
    throw refusal(
      'The key column cannot change',
      'keyColumn',
      'in_use',
      `The sync configuration ${config.name} uses the query, and another key would give all records other ids: create another query`,
    );
  if (await store.hasBegunRun(tx, ctx.organizationId, config.id))
    throw refusal(
      'The query cannot change while a sync run is open',
      'query',
      'run_open',
      'Cancel the run first, or wait until it ends',
    );
}

const isSameQuery = (one: ErpQueryInput, other: ErpQueryInput): boolean =>
  one.query === other.query &&
  one.keyColumn === other.keyColumn &&
  one.modifiedColumn === other.modifiedColumn;

/** Throws 404 for an unknown query, and 422 as `assertMayChange` and `describe`, which may throw 503. */
export async function putErpQuery(ctx: RequestCtx, connection: string, query: string, input: ErpQueryInput) {
  const name = await toTypeName(ctx, connection, query);
  const stored = await getErpQuery(ctx, connection, query);
  const last = isSameQuery(stored, input) ? ((await findDescription(ctx, name)) ?? null) : null;
  const description = await describe(ctx, { name, ...input }, last);
  return inTransaction(ctx, async (tx) => {
    const before = await getRow(tx, ctx, name);
    if (!isSameQuery(view(before), input)) {
      await assertMayChange(tx, ctx, before, input);
      await requireFullRun(ctx, name);
    }
    await store.updateQuery(tx, ctx.organizationId, name, input);
    await writeDescriptions(tx, ctx.organizationId, [description], []);
    await writeAudit(tx, ctx, 'erp-query.put', ['erp-query', null], { name, ...input });
    return view(await getRow(tx, ctx, name));
  });
}

/** Throws 404 for an unknown query, 422 `in_use` while a sync configuration reads it. */
export async function deleteErpQuery(ctx: RequestCtx, connection: string, query: string): Promise<void> {
  const name = await toTypeName(ctx, connection, query);
  await inTransaction(ctx, async (tx) => {
    await getRow(tx, ctx, name);
    const config = await store.lockConfig(tx, ctx.organizationId, name);
    if (config !== undefined)
      throw refusal(
        'The query is in use',
        '',
        'in_use',
        `Delete the sync configuration ${config.name} first`,
      );
    await store.deleteQuery(tx, ctx.organizationId, name);
    await writeDescriptions(tx, ctx.organizationId, [], [name]);
    await writeAudit(tx, ctx, 'erp-query.delete', ['erp-query', null], { name });
  });
}
