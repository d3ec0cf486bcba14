// Ends versions: deprecate, retire, undo. One ends only by an explicit request, never by its sunset date.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { maxPageSize, type NamedPageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import type { AuditAction } from '../../identity/audit-actions.ts';
import { announce } from '../../webhooks/index.ts';
import { listVersionCallers } from '../api-keys/usage.ts';
import { apiSchemaView, getApiSchemaRow } from './api-schemas.service.ts';
import * as store from './api-schemas.store.ts';

type StatusChange = {
  readonly to: store.ApiSchemaRow['status'];
  readonly from: readonly store.ApiSchemaRow['status'][];
  readonly sunsetAt: string | null | undefined;
  readonly action: AuditAction;
};

async function changeStatus(
  tx: Tx,
  ctx: RequestCtx,
  id: string,
  { to, from, sunsetAt, action }: StatusChange,
) {
  const row = await getApiSchemaRow(tx, ctx, id, true);
  if (!from.includes(row.status))
    throw invalid(`A ${row.status} version cannot be ${to === 'retired' ? 'retired' : `made ${to}`}`, [
      { path: '', code: 'illegal_transition', message: `It must be ${from.join(' or ')}` },
    ]);
  await store.setStatus(tx, ctx.organizationId, id, to, sunsetAt === undefined ? row.sunset_at : sunsetAt);
  if (to === 'deprecated' || to === 'retired')
    await announce(tx, ctx.organizationId, `schema.${to}`, {
      ...{ version: row.version, apiSchemaId: id },
      sunsetAt: sunsetAt === undefined ? row.sunset_at : sunsetAt,
    });
  await writeAudit(tx, ctx, action, ['api-schema', id], {
    version: row.version,
    from: row.status,
    to,
    ...(sunsetAt !== undefined && { sunsetAt }),
  });
  return apiSchemaView(await getApiSchemaRow(tx, ctx, id));
}

/** Throws 404, 422 `in_the_past` for the sunset, `illegal_transition` unless published or deprecated. */
export function deprecateApiSchema(ctx: RequestCtx, id: string, sunsetAt: string | null) {
  if (sunsetAt !== null && new Date(sunsetAt) <= ctx.clock.now())
    throw invalid('The sunset must be in the future', [
      { path: 'sunsetAt', code: 'in_the_past', message: 'must be in the future' },
    ]);
  const change: StatusChange = {
    to: 'deprecated',
    from: ['published', 'deprecated'],
    sunsetAt,
    action: 'api-schema.deprecate',
  };
  return inTransaction(ctx, (tx) => changeStatus(tx, ctx, id, change));
}

const retirement: StatusChange = {
  to: 'retired',
  from: ['published', 'deprecated'],
  sunsetAt: undefined,
  action: 'api-schema.retire',
};
/** Restores the version as deprecated. */
const restoration: StatusChange = {
  to: 'deprecated',
  from: ['retired'],
  sunsetAt: undefined,
  action: 'api-schema.unretire',
};

/** Returns the version with its callers of the last 30 days. Throws 404, 422 `illegal_transition`. */
export const retireApiSchema = (ctx: RequestCtx, id: string, undo: boolean) =>
  inTransaction(ctx, async (tx) => {
    const moved = await changeStatus(tx, ctx, id, undo ? restoration : retirement);
    return {
      ...moved,
      callers: (
        await listVersionCallers(tx, ctx.organizationId, moved.version, { page: 1, pageSize: maxPageSize })
      ).rows,
    };
  });

/** Throws 404 for an unknown version. */
export const listApiSchemaCallers = (ctx: RequestCtx, id: string, query: NamedPageQuery) =>
  inTransaction(ctx, async (tx) => {
    const { version } = await getApiSchemaRow(tx, ctx, id);
    const { rows, total } = await listVersionCallers(tx, ctx.organizationId, version, query);
    return toPage(rows, total, query);
  });
