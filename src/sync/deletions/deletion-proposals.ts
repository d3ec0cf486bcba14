// What administrators see and decide of deletions that were held back: queries and changes outside of a run.
import type { PoolClient } from 'pg';
import type { ShownAs } from '../../connectors/connector.ts';
import type { TenantCtx } from '../../core/ctx.ts';
import { createId } from '../../core/id.ts';
import { inDataTransaction } from '../../db/transaction.ts';
import { type RecordColumn, readRecordColumns } from '../../warehouse/columns.ts';
import { cellText } from '../../warehouse/local-records.ts';
import { orIfNotSetUp, readRecordState, rfc3339Sql } from '../../warehouse/record-state.ts';
import type { Reference } from '../../warehouse/staging.ts';
import { quoteIdentifier } from '../../warehouse/table.ts';
import { tenantSchema, updateTenantSchema } from '../../warehouse/tenant-schema.ts';
import { findDescription } from '../account/record-types.store.ts';

export const proposalStatuses = ['open', 'kept', 'superseded', 'approved', 'applied', 'rejected'] as const;
export type ProposalStatus = (typeof proposalStatuses)[number];

export type ProposalRow = {
  readonly id: string;
  readonly status: ProposalStatus;
  /** Rises with every change of ids. */
  readonly revision: number;
  readonly count: number;
  /** As the run stored it; proposals of older versions lack some of its properties. */
  readonly evidence: Readonly<Record<string, unknown>>;
  readonly createdAt: string;
  readonly closedAt: string | null;
};
export type AbsentRecordRow = {
  readonly id: string;
  readonly number: string | null;
  readonly name: string | null;
  readonly date: string | null;
  readonly amount: string | null;
  readonly lastSeenAt: string | null;
  readonly referencedBy: readonly Reference[];
};

/** No rows before the first sync. Rejects with database errors. */
async function query<T extends Record<string, unknown>>(
  ctx: TenantCtx,
  sql: string,
  values: readonly unknown[] = [],
): Promise<T[]> {
  return orIfNotSetUp([], async () => (await ctx.db.data.query<T>(sql, [...values])).rows);
}

const toTableName = ({ organizationId }: TenantCtx) => `${tenantSchema(organizationId)}.deletion_proposals`;
const proposalColumns = `id, status, revision, cardinality(ids) as count, evidence, ${rfc3339Sql('created_at')} as "createdAt", ${rfc3339Sql('closed_at')} as "closedAt"`;

export type HeldDeletions = {
  readonly proposalId: string;
  readonly count: number;
  readonly createdAt: string;
};

/** Deletions that wait for approval, by record type. Rejects with database errors. */
export async function listHeldDeletions(ctx: TenantCtx): Promise<ReadonlyMap<string, HeldDeletions>> {
  const rows = await query<HeldDeletions & { recordType: string }>(
    ctx,
    `select record_type as "recordType", id as "proposalId", cardinality(ids) as count, ${rfc3339Sql('created_at')} as "createdAt"
     from ${toTableName(ctx)} where status = 'open'`,
  );
  return new Map(rows.map(({ recordType, ...held }) => [recordType, held]));
}

/** Newest first. Rejects with database errors. */
export async function listProposals(
  ctx: TenantCtx,
  recordType: string,
  status: ProposalStatus | undefined,
  page: { page: number; pageSize: number },
): Promise<{ rows: ProposalRow[]; total: number }> {
  await updateTenantSchema(ctx, ctx.organizationId);
  const from = `from ${toTableName(ctx)} where record_type = $1 and ($2::text is null or status = $2)`;
  const values = [recordType, status ?? null];
  const counted = await query<{ total: string }>(ctx, `select count(*) as total ${from}`, values);
  const rows = await query<ProposalRow>(
    ctx,
    `select ${proposalColumns} ${from} order by created_at desc, id desc limit $3 offset $4`,
    [...values, page.pageSize, (page.page - 1) * page.pageSize],
  );
  return { rows, total: Number(counted[0]?.total ?? 0) };
}

/** The deletion proposal; undefined when it does not exist. Rejects with database errors. */
export async function findProposal(
  ctx: TenantCtx,
  recordType: string,
  id: string,
): Promise<ProposalRow | undefined> {
  await updateTenantSchema(ctx, ctx.organizationId);
  const sql = `select ${proposalColumns} from ${toTableName(ctx)} where record_type = $1 and id = $2`;
  return (await query<ProposalRow>(ctx, sql, [recordType, id]))[0];
}

/** The given ids that the proposal does not list, in their order. Rejects with database errors. */
export async function filterUnlistedIds(ctx: TenantCtx, proposalId: string, ids: readonly string[]) {
  const { rows } = await ctx.db.data.query<{ id: string }>(
    `select a.id from unnest($2::text[]) with ordinality a(id, n)
     where a.id not in (select unnest(ids) from ${toTableName(ctx)} where id = $1) order by a.n`,
    [proposalId, ids],
  );
  return rows.map(({ id }) => id);
}

/**
 * SQL for a value as its reader sees it: of a field, or of a label, whose source is `<field>.name`. `text`:
 * SQL for the value as text.
 */
export type ShowValue = (source: string, text: string) => string;

/** SQL for the value by which a person recognizes a record: the label of a field that has one. */
function shownSql(columns: readonly RecordColumn[], field: string | null, show: ShowValue): string {
  const current = columns.filter((column) => column.field === field && column.state !== 'replaced');
  const shown = current.find(({ part }) => part === 'label') ?? current.find(({ part }) => part === 'value');
  return shown === undefined
    ? 'null'
    : show(shown.part === 'label' ? `${shown.field}.name` : shown.field, cellText(shown, 't'));
}

const readShownAs = async (ctx: TenantCtx, recordType: string): Promise<ShownAs> => {
  // What an older version of this service stored has no `shownAs`.
  const found: ShownAs | undefined = (await findDescription(ctx, recordType))?.shownAs;
  return found ?? { number: null, name: null, date: null, amount: null };
};

export type RecordsRequest = { readonly after: string | null; readonly limit: number };

/**
 * Records of a proposal after the given id, in the order of ids, with what is stored of them and `show` lets
 * through. Undefined when `after` is no id of this record type. Rejects with database errors.
 */
export async function listProposalRecords(
  ctx: TenantCtx,
  recordType: string,
  proposalId: string,
  { after, limit }: RecordsRequest,
  show: ShowValue,
): Promise<AbsentRecordRow[] | undefined> {
  const schema = tenantSchema(ctx.organizationId);
  const shownAs = await readShownAs(ctx, recordType);
  const state = await readRecordState(ctx.db.data, schema, recordType);
  const columns = await readRecordColumns(ctx.db.data, schema, recordType);
  const isInteger = state?.idType === 'integer';
  if (isInteger && after !== null && !/^-?\d{1,18}$/.test(after)) return undefined;
  const type = isInteger ? 'bigint' : 'text collate "C"';
  const table = state?.activeTable ?? null;
  const shown = (field: string | null): string => (table === null ? 'null' : shownSql(columns, field, show));
  const join = table === null ? '' : `left join ${schema}.${quoteIdentifier(table)} t on t.id = p.key`;
  const { rows } = await ctx.db.data.query<AbsentRecordRow>(
    `select p.id, ${shown(shownAs.number)} as number, ${shown(shownAs.name)} as name, ${shown(shownAs.date)} as date,
       ${shown(shownAs.amount)} as amount, ${rfc3339Sql('a.last_seen_at')} as "lastSeenAt", coalesce(a.referenced_by, '[]') as "referencedBy"
     from (select u.id, u.id::${type} as key from ${toTableName(ctx)} d, unnest(d.ids) u(id)
           where d.id = $1 and ($3::text is null or u.id::${type} > $3::${type}) order by 2 limit $4) p
     ${join} left join ${schema}.absent_records a on a.record_type = $2 and a.id = p.id order by p.key`,
    [proposalId, recordType, after, limit],
  );
  return rows;
}

type Locked = { id: string; ids: string[]; status: ProposalStatus; revision: number; evidence: unknown };

/** Locks the proposal and its record type's rejected one, in the order in which publishing locks them. */
async function lockProposal(client: PoolClient, table: string, recordType: string, id: string) {
  const { rows } = await client.query<Locked>(
    `select id, ids, status, revision, evidence from ${table} where record_type = $1 and (id = $2 or status = 'rejected') order by id for update`,
    [recordType, id],
  );
  return { proposal: rows.find((row) => row.id === id), rejected: rows.find((row) => row.id !== id) };
}

/** What the administrator looked at, and decides about. */
export type ProposalDecision = { readonly id: string; readonly revision: number };

/**
 * Approves the proposal, or only the given ids of it: these move to an approved proposal of their own. False
 * when it is no longer open at that revision. An approved proposal stays approved, so requests can be
 * retried. Rejects with database errors.
 */
export const approveProposal = (
  ctx: TenantCtx,
  recordType: string,
  { id, revision }: ProposalDecision,
  ids: readonly string[] | null,
): Promise<boolean> =>
  inDataTransaction(ctx.db.data, async (client) => {
    const table = toTableName(ctx);
    const { proposal } = await lockProposal(client, table, recordType, id);
    if (proposal === undefined || proposal.revision !== revision) return false;
    if (proposal.status === 'approved') return true;
    if (proposal.status !== 'open' && proposal.status !== 'rejected') return false;
    const approved = new Set(ids ?? proposal.ids);
    const rest = proposal.ids.filter((one) => !approved.has(one));
    if (rest.length === 0) {
      await client.query(`update ${table} set status = 'approved' where id = $1`, [id]);
      return true;
    }
    await client.query(`update ${table} set ids = $2, revision = revision + 1 where id = $1`, [id, rest]);
    await client.query(
      `insert into ${table} (id, record_type, ids, evidence, status) values ($1, $2, $3, $4, 'approved')`,
      [
        createId(),
        recordType,
        proposal.ids.filter((one) => approved.has(one)),
        JSON.stringify(proposal.evidence),
      ],
    );
    return true;
  });

/**
 * Rejects the proposal: it takes over what was rejected before, as a type has one rejected proposal. False
 * when it is no longer open at that revision; true when already rejected. Rejects with database errors.
 */
export const rejectProposal = (ctx: TenantCtx, recordType: string, { id, revision }: ProposalDecision) =>
  inDataTransaction(ctx.db.data, async (client) => {
    const table = toTableName(ctx);
    const { proposal, rejected } = await lockProposal(client, table, recordType, id);
    if (proposal === undefined || proposal.revision !== revision) return false;
    if (proposal.status === 'rejected') return true;
    if (proposal.status !== 'open') return false;
    if (rejected !== undefined)
      await client.query(`update ${table} set status = 'superseded', closed_at = now() where id = $1`, [
        rejected.id,
      ]);
    const ids = [...new Set([...proposal.ids, ...(rejected?.ids ?? [])])];
    await client.query(`update ${table} set status = 'rejected', ids = $2, revision = $3 where id = $1`, [
      id,
      ids,
      ids.length === proposal.ids.length ? revision : revision + 1,
    ]);
    return true;
  });
