// Reads which record types and columns a definition can use: everything with data or columns in the warehouse
// of the organization.

import type { TenantCtx } from '../../core/ctx.ts';
import { type CacheOptions, createCache } from '../../core/work/cache.ts';
import { chooseWarehouse } from '../../db/former-warehouse.ts';
import { inTransaction } from '../../db/transaction.ts';
import { readRecordColumns } from '../../warehouse/columns.ts';
import { orIfNotSetUp } from '../../warehouse/record-state.ts';
import { tenantSchema } from '../../warehouse/tenant-schema.ts';
import type { Available, AvailableRecordType } from './bind.ts';
import type { SummaryBasis } from './compile.ts';

type StateRow = { record_type: string; id_type: 'integer' | 'text'; has_data: boolean };

/** By record type; empty until the first sync is set up. */
export async function readAvailable(ctx: Pick<TenantCtx, 'db' | 'organizationId'>): Promise<Available> {
  const schema = tenantSchema(ctx.organizationId);
  const states = await readStates(ctx, schema);
  const described = await readDescribed(
    ctx,
    states.map(({ record_type: name }) => name),
  );
  const available: Record<string, AvailableRecordType> = {};
  for (const row of states) {
    const columns = await readRecordColumns(
      chooseWarehouse(ctx.db, ctx.organizationId).data,
      schema,
      row.record_type,
    );
    const {
      label = row.record_type,
      volatileFields = [],
      targets = {},
      ...summaries
    } = described.get(row.record_type) ?? {};
    available[row.record_type] = {
      label,
      idType: row.id_type,
      columns,
      hasData: row.has_data,
      volatileFields,
      targets,
      ...summaries,
    };
  }
  return available;
}

async function readStates(ctx: Pick<TenantCtx, 'db' | 'organizationId'>, schema: string) {
  return orIfNotSetUp([], async () => {
    const { rows } = await chooseWarehouse(ctx.db, ctx.organizationId).data.query<StateRow>(
      `select record_type, id_type, generation > 0 and active_table is not null as has_data from ${schema}.record_state order by record_type`,
    );
    return rows;
  });
}

/** One record type, labelled with its plain name; undefined when it was never set up. */
export async function readAvailableType(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  recordType: string,
): Promise<AvailableRecordType | undefined> {
  const schema = tenantSchema(ctx.organizationId);
  const [row] = (await readStates(ctx, schema)).filter(({ record_type: name }) => name === recordType);
  if (row === undefined) return undefined;
  const columns = await readRecordColumns(
    chooseWarehouse(ctx.db, ctx.organizationId).data,
    schema,
    recordType,
  );
  return { label: recordType, idType: row.id_type, columns, hasData: row.has_data };
}

type Described = Required<Pick<AvailableRecordType, 'label' | 'volatileFields' | 'targets'>> &
  Pick<AvailableRecordType, 'currency' | 'amounts' | 'utcOffsetMinutes' | 'number'>;
type DescribedRow = Pick<Described, 'label' | 'volatileFields' | 'targets'> & {
  readonly name: string;
  readonly currency: string | null;
  readonly number: string | null;
  readonly amounts: Readonly<Record<string, string | null>> | null;
  /** What the account as a whole has; null where it isn't known. */
  readonly account: {
    readonly hasCurrencies: boolean | null;
    readonly utcOffsetMinutes: number | null;
  } | null;
};

function toDescribed({
  label,
  volatileFields,
  targets,
  currency,
  amounts,
  number,
  account,
}: DescribedRow): Described {
  const utcOffsetMinutes = account?.utcOffsetMinutes ?? null;
  const hasCurrencies = account?.hasCurrencies !== false;
  return {
    label,
    volatileFields: volatileFields ?? [],
    targets: targets ?? {},
    ...(currency !== null && hasCurrencies && { currency }),
    ...(amounts !== null && hasCurrencies && { amounts }),
    ...(utcOffsetMinutes !== null && { utcOffsetMinutes }),
    ...(number !== null && { number }),
  };
}

/** What the ERP says about the record types, by name. */
async function readDescribed(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  names: readonly string[],
): Promise<Map<string, Described>> {
  const { rows } = await inTransaction(ctx, (tx) =>
    tx.raw<{ rows: DescribedRow[] }>(
      `select name, head ->> 'label' as label, jsonb_path_query_array(description, cast(? as jsonpath)) as "volatileFields",
         (select jsonb_object_agg(f ->> 'name', f ->> 'target') from jsonb_array_elements(description -> 'fields') as f
          where f ->> 'target' is not null) as targets,
         coalesce(description ->> 'currencyField', (select f ->> 'currency'
          from jsonb_array_elements(description -> 'fields') with ordinality as e(f, position)
          where f ->> 'currency' is not null order by position limit 1)) as currency,
         (select jsonb_object_agg(f ->> 'name', coalesce(f -> 'currency', description -> 'currencyField'))
          from jsonb_array_elements(description -> 'fields') as f
          where f -> 'currency' is not null or (f ->> 'type' = 'number' and description ->> 'currencyField' is not null)) as amounts,
         description -> 'shownAs' ->> 'number' as number,
         (select c.account from erp_connections as c where c.organization_id = t.organization_id and case when strpos(t.name, ':') > 0
          then c.name = split_part(t.name, ':', 1) else c.is_first end) as account
       from erp_record_types as t where organization_id = ? and name = any(?)`,
      ['$.fields[*] ? (@.volatile == true).name', ctx.organizationId, [...names]],
    ),
  );
  return new Map(rows.map((row) => [row.name, toDescribed(row)]));
}

type SummaryCtx = Pick<TenantCtx, 'db' | 'organizationId'>;
export type FindSummaryBasis = (ctx: SummaryCtx, recordType: string) => Promise<SummaryBasis>;

async function readSummaryBasis(ctx: SummaryCtx, recordType: string): Promise<SummaryBasis> {
  const {
    currency,
    amounts,
    utcOffsetMinutes = 0,
  } = (await readDescribed(ctx, [recordType])).get(recordType) ?? {};
  const money = { ...(currency !== undefined && { currency }), ...(amounts !== undefined && { amounts }) };
  return { money, utcOffsetMinutes };
}

/** What the ERP says about the amounts of a record type and the zone of its days, for as long as `ttl` says. */
export function createSummaryBases(
  options: Pick<CacheOptions<SummaryBasis>, 'maxBytes' | 'ttl'>,
): FindSummaryBasis {
  const cache = createCache<SummaryBasis>(options);
  return (ctx, recordType) =>
    cache.load(`${ctx.organizationId}/${recordType}`, () => readSummaryBasis(ctx, recordType));
}

/** As `readAvailableType`, with what the ERP says about the record type. */
export async function readDescribedType(
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  recordType: string,
): Promise<AvailableRecordType | undefined> {
  const found = await readAvailableType(ctx, recordType);
  return found && { ...found, ...(await readDescribed(ctx, [recordType])).get(recordType) };
}
