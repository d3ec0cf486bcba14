// What the services of most groups do alike with the rows of their stores.
import type { RequestCtx, TenantCtx } from '../core/ctx.ts';
import { orNotFound } from '../core/errors.ts';
import { inTransaction, type Tx } from '../db/transaction.ts';
import { type PageQuery, viewPage } from '../http/page.ts';

type Find<Row> = (tx: Tx, organizationId: string, id: string) => Promise<Row | undefined>;
/** The row with an id in the organization. Throws 404 when there is none. */
export const getterOf =
  <Row>(find: Find<Row>, thing: string) =>
  async (tx: Tx, { organizationId }: Pick<TenantCtx, 'organizationId'>, id: string) =>
    orNotFound(await find(tx, organizationId, id), thing);

type List<Row, Filter> = (
  tx: Tx,
  organizationId: string,
  page: PageQuery,
  filter: Filter,
) => Promise<{ readonly rows: readonly Row[]; readonly total: number }>;
/** A page of the organization's rows that the filter selects, each as `view` shows it. */
export const listerOf =
  <Row, Filter, View>(list: List<Row, Filter>, view: (row: Row) => View) =>
  (ctx: RequestCtx, page: PageQuery, filter: Filter) =>
    inTransaction(ctx, async (tx) => viewPage(await list(tx, ctx.organizationId, page, filter), page, view));
