// The record types of ERP accounts as the service knows them: when those of a connection were last listed
// (erp_connections.listed_at, list_error, account), and one row for each (erp_record_types). Only this file writes these
// columns and this table, except that deleting a connection deletes its rows.
import type { RecordTypeMetadata } from '../../connectors/connector.ts';
import type { AccountFacts, RecordFamily, RecordTypeHead } from '../../connectors/discovery.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { containsSql } from '../../core/text/folded-text.ts';
import { readPage } from '../../db/page.ts';
import { inTransaction, type Tx } from '../../db/transaction.ts';
import { type ConnectionName, isConnectionOf, isOneOf, selectConnection } from './connection-of.ts';

/** The counts are null until the record type is described. */
export type StoredHead = RecordTypeHead & {
  readonly fieldCount: number | null;
  readonly syncableFieldCount: number | null;
};

/**
 * `lastError`: why the last attempt to list the record types failed; null when it succeeded. `account` is
 * null where it isn't known.
 */
export type MetadataStatus = {
  readonly refreshedAt: Date;
  readonly lastError: string | null;
  readonly account: AccountFacts | null;
};

export type StoredRecordType = {
  readonly head: StoredHead;
  /** Null until it is needed for the first time. */
  readonly description: RecordTypeMetadata | null;
  readonly describedAt: Date | null;
  /** The account was listed again since the record type was described. */
  readonly isOutdated: boolean;
};

/** Whether a run can read anything of it. */
export const hasReadableFields = ({ fields }: Pick<RecordTypeMetadata, 'fields'>): boolean =>
  fields.some(({ name, syncable }) => syncable && name !== 'id');

/**
 * What a list shows of a record type that is described. `listed`: how the ERP's own list of record types
 * shows it, where it does.
 */
export function toHead(described: RecordTypeMetadata, listed?: RecordTypeHead): StoredHead {
  const { name, label, table, source, fields } = described;
  const syncable = hasReadableFields(described);
  const reason =
    described.reason ??
    fields.find((field) => field.reason !== null)?.reason ??
    'It has no fields that can be read';
  return {
    ...{ name, label, table, source, syncable, reason: syncable ? null : reason },
    family: described.family ?? listed?.family ?? 'list',
    custom: described.custom ?? listed?.custom ?? false,
    fieldCount: fields.length,
    syncableFieldCount: fields.filter((field) => field.syncable).length,
  };
}

/** Undefined until the record types were listed for the first time. */
export const readMetadataStatus = (
  ctx: TenantCtx,
  connection: ConnectionName,
): Promise<MetadataStatus | undefined> =>
  inTransaction(ctx, async (tx) =>
    selectConnection(tx, ctx.organizationId, connection)
      .whereNotNull('listed_at')
      .first<MetadataStatus | undefined>({
        refreshedAt: 'listed_at',
        lastError: 'list_error',
        account: 'account',
      }),
  );

/** Keeps the error next to what was listed last. */
export const saveMetadataError = (
  ctx: TenantCtx,
  connection: ConnectionName,
  message: string,
): Promise<number> =>
  inTransaction(ctx, (tx) =>
    selectConnection(tx, ctx.organizationId, connection)
      .whereNotNull('listed_at')
      .update({ list_error: message }),
  );

type Row = {
  head: StoredHead;
  description: RecordTypeMetadata | null;
  described_at: Date | null;
  is_outdated: boolean;
};

const ofOrganization = (tx: Tx, organizationId: string) =>
  tx('erp_record_types as t').where('t.organization_id', organizationId);

/** By name; record types that aren't known are absent. */
export const readRecordTypes = (
  ctx: TenantCtx,
  names: readonly string[],
): Promise<ReadonlyMap<string, StoredRecordType>> =>
  inTransaction(ctx, async (tx) => {
    const rows = await ofOrganization(tx, ctx.organizationId)
      .joinRaw(
        `left join erp_connections as c on c.organization_id = t.organization_id and ${isConnectionOf('t.name')}`,
      )
      .whereRaw('t.name = any(?::text[])', [[...names]])
      .select<Row[]>(
        't.head',
        't.description',
        't.described_at',
        tx.raw('coalesce(t.described_at < c.listed_at, false) as is_outdated'),
      );
    return new Map(
      rows.map(({ head, description, described_at: describedAt, is_outdated: isOutdated }) => [
        head.name,
        { head, description, describedAt, isOutdated },
      ]),
    );
  });

/** The record types as last described, those of these names or all of a connection. */
export const readDescriptions = (
  ctx: TenantCtx,
  of: ConnectionName | readonly string[],
): Promise<RecordTypeMetadata[]> =>
  inTransaction(ctx, (tx) =>
    ofOrganization(tx, ctx.organizationId)
      .whereNotNull('t.description')
      .whereRaw(...isOneOf('t.name', of))
      .pluck<RecordTypeMetadata[]>('t.description'),
  );

export const findRecordType = async (ctx: TenantCtx, name: string): Promise<StoredRecordType | undefined> =>
  (await readRecordTypes(ctx, [name])).get(name);

/** The record type with its fields, as last described; undefined when it never was. */
export const findDescription = async (ctx: TenantCtx, name: string) =>
  (await findRecordType(ctx, name))?.description ?? undefined;

/** The sync configurations that read these record types, by the name of the record type. */
export const findSyncConfigIds = (
  ctx: TenantCtx,
  names: readonly string[],
): Promise<ReadonlyMap<string, string>> =>
  inTransaction(ctx, async (tx) => {
    const rows = await tx('sync_configs')
      .where('organization_id', ctx.organizationId)
      .whereRaw('record_type = any(?::text[])', [[...names]])
      .select<{ id: string; record_type: string }[]>('id', 'record_type');
    return new Map(rows.map(({ id, record_type: recordType }) => [recordType, id]));
  });

/** `q` is searched in names and labels, ignoring case; `names` are whole names. */
export type HeadFilter = {
  readonly q?: string | undefined;
  readonly names?: readonly string[] | undefined;
  readonly syncable?: boolean | null | undefined;
  readonly custom?: boolean | undefined;
  readonly family?: RecordFamily | undefined;
};

/** One page of a connection's list, in the order of the account, and how many there are. */
export const listHeads = (
  ctx: TenantCtx,
  connection: ConnectionName,
  { q, names, syncable, custom, family }: HeadFilter,
  page: Parameters<typeof readPage>[1],
): Promise<{ rows: readonly StoredHead[]; total: number }> =>
  inTransaction(ctx, async (tx) => {
    const query = ofOrganization(tx, ctx.organizationId)
      .whereRaw(...isOneOf('t.name', connection))
      .orderBy(['t.position', 't.name'])
      .select('t.head');
    if (q !== undefined) query.whereRaw(containsSql('t.name', "(t.head ->> 'label')"), [q]);
    if (names !== undefined) query.whereRaw('t.name = any(?::text[])', [[...names]]);
    if (syncable !== undefined) query.whereRaw("t.head -> 'syncable' = ?::jsonb", [JSON.stringify(syncable)]);
    if (custom !== undefined) query.whereRaw("t.head -> 'custom' = ?::jsonb", [JSON.stringify(custom)]);
    if (family !== undefined) query.whereRaw("t.head ->> 'family' = ?", [family]);
    const { rows, total } = await readPage<{ head: StoredHead }>(query, page);
    return { rows: rows.map(({ head }) => head), total };
  });

/** Names of the record types that can be synced, or of which that isn't known yet. */
export const listSyncableNames = (ctx: TenantCtx): Promise<string[]> =>
  inTransaction(ctx, (tx) =>
    ofOrganization(tx, ctx.organizationId)
      .whereRaw("t.head -> 'syncable' <> 'false'::jsonb")
      .orderBy(['t.position', 't.name'])
      .pluck<string[]>('t.name'),
  );

/** A field that names records of a type: of the header, or of its lines (`lineField`). */
export type ReferenceField = {
  readonly recordType: string;
  readonly field: string;
  readonly lineField: string | null;
};

/** All fields of described record types that name records of the type `target`. */
export const listReferenceFields = (ctx: TenantCtx, target: string): Promise<readonly ReferenceField[]> =>
  inTransaction(ctx, async (tx) => {
    const { rows } = await tx.raw<{ rows: { name: string; field: string; line_field: string | null }[] }>(
      `select t.name, f ->> 'name' as field, l ->> 'name' as line_field
       from erp_record_types t cross join lateral jsonb_array_elements(t.description -> 'fields') f
       left join lateral jsonb_array_elements(f -> 'fields') l on l ->> 'target' = ?
       where t.organization_id = ? and (f ->> 'target' = ? or l is not null)`,
      [target, ctx.organizationId, target],
    );
    return rows.map(({ name, field, line_field: lineField }) => ({ recordType: name, field, lineField }));
  });

type NewRow = {
  readonly name: string;
  readonly position: number;
  readonly head: StoredHead;
  readonly description?: RecordTypeMetadata;
};

/** In the order of names, so that writers can't block each other. `known`: what happens to existing rows. */
const upsert = (tx: Tx, organizationId: string, rows: readonly NewRow[], known: string) =>
  tx.raw(
    `insert into erp_record_types as t (organization_id, name, position, head, description, described_at)
     select ?, r.name, r.position, r.head, r.description, case when r.description is not null then now() end
     from jsonb_to_recordset(?::jsonb) as r(name text, position integer, head jsonb, description jsonb) order by r.name
     on conflict (organization_id, name) do update set ${known}`,
    [organizationId, JSON.stringify(rows)],
  );

/** What was listed replaces an earlier head unless that says more, from the description that stays. */
const mergeListed = `position = excluded.position,
  head = case when excluded.description is null and t.description is not null and excluded.head -> 'syncable' <> 'false' then t.head
              else excluded.head end,
  description = coalesce(excluded.description, t.description), described_at = coalesce(excluded.described_at, t.described_at)`;

export type ReadAccount = {
  /** Described with all their fields. */
  readonly described: readonly RecordTypeMetadata[];
  /** What the account lists, those included or not. */
  readonly listed: readonly RecordTypeHead[];
  readonly account: AccountFacts | null;
};

/**
 * Stores the list of a connection's account: what is described first, then the rest in the account's order. Earlier
 * descriptions of others stay. Record types that are no longer listed are removed, except those that a sync
 * configuration reads or a customer's query defines.
 */
export const saveAccount = (
  ctx: Pick<TenantCtx, 'db' | 'organizationId'>,
  connection: ConnectionName,
  { described, listed, account }: ReadAccount,
): Promise<void> =>
  inTransaction(ctx, async (tx) => {
    const { organizationId } = ctx;
    const heads = new Map(listed.map((head) => [head.name, head]));
    const first = new Map(described.map((description) => [description.name, description]));
    const rows = [
      ...[...first.values()].map((description) => ({
        head: toHead(description, heads.get(description.name)),
        description,
      })),
      ...[...heads.values()]
        .filter(({ name }) => !first.has(name))
        .map((head) => ({ head: { ...head, fieldCount: null, syncableFieldCount: null } })),
    ].map((row, position) => ({ ...row, name: row.head.name, position }));
    // Locks the row first: one process at a time replaces the list.
    const listedNow = { account: JSON.stringify(account), listed_at: tx.fn.now(), list_error: null };
    if ((await selectConnection(tx, organizationId, connection).update(listedNow)) === 0) return;
    await upsert(tx, organizationId, rows, mergeListed);
    await ofOrganization(tx, organizationId)
      .whereRaw(...isOneOf('t.name', connection))
      .whereRaw('t.name <> all(?::text[])', [rows.map(({ name }) => name)])
      .whereRaw("t.head ->> 'family' <> 'query'")
      .whereNotExists(
        tx('sync_configs as c')
          .whereRaw('c.organization_id = t.organization_id and c.record_type = t.name')
          .select(tx.raw('1')),
      )
      .delete();
  });

/** Stores descriptions of record types, listed or not; removes those of `absent`, which the account lacks. */
export const saveDescriptions = (
  ctx: TenantCtx,
  described: readonly RecordTypeMetadata[],
  absent: readonly string[] = [],
): Promise<void> => inTransaction(ctx, (tx) => writeDescriptions(tx, ctx.organizationId, described, absent));

/** As `saveDescriptions`, in the caller's transaction. */
export async function writeDescriptions(
  tx: Tx,
  organizationId: string,
  described: readonly RecordTypeMetadata[],
  absent: readonly string[],
): Promise<void> {
  const known = await ofOrganization(tx, organizationId)
    .whereRaw('t.name = any(?::text[])', [described.map(({ name }) => name)])
    .select<{ head: StoredHead }[]>('t.head');
  const heads = new Map(known.map(({ head }) => [head.name, head]));
  const last = await ofOrganization(tx, organizationId).max<{ position: number | null }[]>({
    position: 't.position',
  });
  const rows = described.map((description, index) => {
    const head = toHead(description, heads.get(description.name));
    return { name: head.name, position: (last[0]?.position ?? 0) + 1 + index, head, description };
  });
  await upsert(
    tx,
    organizationId,
    rows,
    'head = excluded.head, description = excluded.description, described_at = excluded.described_at',
  );
  await ofOrganization(tx, organizationId)
    .whereRaw('t.name = any(?::text[])', [[...absent]])
    .delete();
}
