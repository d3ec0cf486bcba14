// Schema drift: changes of the ERP's fields, each with the versions and views that use the field, and the portal if
// it does. Uses are read when the list is requested, so they include versions created since the change.
import type { RequestCtx } from '../../core/ctx.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { instant } from '../../http/fields.ts';
import { type PageQuery, toPage } from '../../http/page.ts';
import type { EndpointDefinition } from '../../public/index.ts';
import { listEndpointsOfRecordType } from '../api-schemas/api-schemas.store.ts';
import { listPortalUses } from '../portal/portal-uses.ts';
import { findViewUses } from '../views/view-uses.ts';
import { getConfigRow } from './syncs.service.ts';
import * as store from './syncs.store.ts';

type Use = (
  | {
      readonly kind: 'api-schema';
      readonly version: string;
      readonly endpoint: string;
      readonly field: string;
    }
  | { readonly kind: 'portal'; readonly field: string }
  | { readonly kind: 'view'; readonly id: string; readonly name: string; readonly field: string }
  | { readonly kind: 'hidden-view' }
) & {
  /** As in drift events: a field of the record type, or `lines.<field>`. */
  readonly source: string;
};

/** The fields of an endpoint by what they are read from, as drift events name it. */
export const listFieldSources = ({ fields }: EndpointDefinition): { field: string; source: string }[] =>
  fields.flatMap(({ name, source, fields: lines = [] }) => [
    { field: name, source: toField(source) },
    ...lines.map((inner) => ({
      field: `${name}.${inner.name}`,
      source: `${source}.${toField(inner.source)}`,
    })),
  ]);

/** `<field>.name` is the label of `<field>`. */
const toField = (source: string): string => source.replace(/\.name$/, '');

async function usesBySchemas(tx: Tx, organizationId: string, recordType: string): Promise<Use[]> {
  const endpoints = await listEndpointsOfRecordType(tx, organizationId, recordType);
  return endpoints.flatMap(({ version, endpoint }) => {
    const common = { kind: 'api-schema' as const, version, endpoint: endpoint.name };
    return listFieldSources(endpoint).map((field) => ({ ...common, ...field }));
  });
}

/** A field is listed once, however many uses the portal has for it. */
async function usesByPortal(tx: Tx, organizationId: string, recordType: string): Promise<Use[]> {
  const uses = (await listPortalUses(tx, organizationId, recordType)).flatMap(listFieldSources);
  const sources = [...new Set(uses.map(({ source }) => source))];
  return sources.map((source) => ({ kind: 'portal', field: source, source }));
}

/** A view with the column `lines` uses all fields of the lines. */
async function usesInViews(tx: Tx, ctx: RequestCtx, recordType: string): Promise<Use[]> {
  return (await findViewUses(tx, ctx, recordType)).flatMap(({ view, sources }) => {
    if (view !== null)
      return sources.map((field): Use => ({ kind: 'view', ...view, field, source: toField(field) }));
    return [...new Set(sources.map(toField))].map((source): Use => ({ kind: 'hidden-view', source }));
  });
}

const affectedBy = (field: string, uses: readonly Use[]) => {
  const found = uses.filter(
    ({ kind, source }) =>
      source === field ||
      ((kind === 'view' || kind === 'hidden-view') && source === 'lines' && field.startsWith('lines.')),
  );
  return {
    affects: found.flatMap(({ source: _, ...shown }) => (shown.kind === 'hidden-view' ? [] : [shown])),
    hiddenViews: found.filter(({ kind }) => kind === 'hidden-view').length,
  };
};

/** Throws 404 for an unknown sync. */
export const listDrift = (ctx: RequestCtx, configId: string, page: PageQuery) =>
  inTransaction(ctx, async (tx) => {
    const { record_type: recordType } = await getConfigRow(tx, ctx, configId);
    const { rows, total } = await store.listDrift(tx, ctx.organizationId, recordType, page);
    const uses = [
      ...(await usesBySchemas(tx, ctx.organizationId, recordType)),
      ...(await usesByPortal(tx, ctx.organizationId, recordType)),
      ...(await usesInViews(tx, ctx, recordType)),
    ];
    const data = rows.map((row) => ({
      id: row.id,
      recordType,
      kind: row.kind,
      field: row.field,
      fromType: row.from_type,
      toType: row.to_type,
      runId: row.run_id,
      at: instant(row.at),
      ...affectedBy(row.field, uses),
    }));
    return toPage(data, total, page);
  });
