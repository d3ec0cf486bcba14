// How a version ends: announced, then retired by an explicit act that can be undone. Nothing ends by a date alone.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { maxPageSize, type PageQuery, toPage } from '../../http/page.ts';
import { writeAudit } from '../../identity/audit.store.ts';
import { callersOf } from '../api-keys/usage.ts';
import { getRow, view } from './api-schemas.service.ts';
import * as store from './api-schemas.store.ts';

type Move = {
  readonly to: store.ApiSchemaRow['status'];
  readonly from: readonly store.ApiSchemaRow['status'][];
  readonly sunsetAt: string | null | undefined;
  readonly action: string;
};

async function moveStatus(tx: Tx, ctx: RequestCtx, id: string, { to, from, sunsetAt, action }: Move) {
  const row = await getRow(tx, ctx, id, true);
  if (!from.includes(row.status))
    throw invalid(`A ${row.status} version can't be ${to === 'retired' ? 'retired' : `made ${to}`}`, [
      { path: '', code: 'illegal_transition', message: `It must be ${from.join(' or ')}` },
    ]);
  await store.setStatus(tx, ctx.organizationId, id, to, sunsetAt === undefined ? row.sunset_at : sunsetAt);
  await writeAudit(tx, ctx, {
    action,
    target: { type: 'api-schema', id },
    changes: { version: row.version, from: row.status, to, ...(sunsetAt !== undefined && { sunsetAt }) },
  });
  return view(await getRow(tx, ctx, id));
}

export function deprecateApiSchema(ctx: RequestCtx, id: string, sunsetAt: string | null) {
  if (sunsetAt !== null && new Date(sunsetAt) <= ctx.clock.now())
    throw invalid('The sunset must be in the future', [{ path: 'sunsetAt', code: 'in_the_past', message: 'must be in the future' }]);
  const move: Move = { to: 'deprecated', from: ['published', 'deprecated'], sunsetAt, action: 'api-schema.deprecate' };
  return inTransaction(ctx, (tx) => moveStatus(tx, ctx, id, move));
}

const retiring: Move = { to: 'retired', from: ['published', 'deprecated'], sunsetAt: undefined, action: 'api-schema.retire' };
/** The version answers again, as deprecated. */
const returning: Move = { to: 'deprecated', from: ['retired'], sunsetAt: undefined, action: 'api-schema.unretire' };

/** Gives the version and whom it answered lately. */
export const retireApiSchema = (ctx: RequestCtx, id: string, undo: boolean) =>
  inTransaction(ctx, async (tx) => {
    const moved = await moveStatus(tx, ctx, id, undo ? returning : retiring);
    return { ...moved, callers: (await callersOf(tx, ctx.organizationId, moved.version, { page: 1, pageSize: maxPageSize })).rows };
  });

export const listCallers = (ctx: RequestCtx, id: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    const { version } = await getRow(tx, ctx, id);
    const { rows, total } = await callersOf(tx, ctx.organizationId, version, page);
    return toPage(rows, total, page);
  });
