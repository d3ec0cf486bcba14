// Decides, within the publish, which absent records are removed and which wait in a proposal for a person's word. What the ERP
// lists as deleted, or a person approved, goes; what is absent and nothing more goes only when it is little.
import type { PoolClient } from 'pg';
import { newId } from '../core/id.ts';
import type { RunState } from './run-row.ts';
import { quoted, stagingTable } from './table.ts';

/** Deletions up to this many go through, however small the table. */
const alwaysDeletable = 20;

export type DeletionRules = {
  readonly deletions: 'feed' | 'reconcile' | 'none';
  readonly maxDeleteShare: number;
};
export type Decision = {
  readonly remove: readonly string[];
  /** Stay though absent: in the words of the proposal that lists them, `open` for a person's word or `kept` as configured. */
  readonly stay: readonly string[];
};

const most = (rowCount: string, share: number): number => Math.max(alwaysDeletable, Math.floor(Number(rowCount) * share));

/** `sure`: told by the ERP or approved. Under `feed` absence alone removes nothing, unless the ERP hides its list. Pure. */
export function decideDeletions(
  absent: readonly string[],
  sure: ReadonlySet<string>,
  rowCount: string,
  { deletions, maxDeleteShare }: DeletionRules,
  feed: RunState['plan']['feed'],
): Decision {
  if (deletions === 'none') return { remove: [], stay: absent };
  const unsure = absent.filter((id) => !sure.has(id));
  const mayGo = deletions === 'reconcile' || feed === 'hidden';
  if (mayGo && unsure.length <= most(rowCount, maxDeleteShare)) return { remove: absent, stay: [] };
  return { remove: absent.filter((id) => sure.has(id)), stay: unsure };
}

type Place = { readonly client: PoolClient; readonly schema: string; readonly state: RunState };

export async function readSure({ client, schema, state }: Place): Promise<Set<string>> {
  const { rows } = await client.query<{ id: string }>(`select id from ${schema}.staged_deletions where run_id = $1 and proof <> 'absent'`, [
    state.runId,
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** Those of the run's absent records that the table has. */
export async function readAbsent({ client, schema, state }: Place, table: string): Promise<string[]> {
  const { rows } = await client.query<{ id: string }>(
    `select d.id from ${schema}.staged_deletions d where d.run_id = $1
     and exists (select from ${schema}.${quoted(table)} t where t.id = d.id::${state.plan.idType === 'integer' ? 'bigint' : 'text'}) order by d.id`,
    [state.runId],
  );
  return rows.map(({ id }) => id);
}

type OpenProposal = { id: string; ids: string[]; status: 'open' | 'kept' };

const same = (a: readonly string[], b: readonly string[]): boolean => {
  const held = new Set(a);
  return a.length === b.length && b.every((id) => held.has(id));
};

async function close({ client, schema }: Place, id: string, status: 'superseded' | 'applied'): Promise<void> {
  await client.query(`update ${schema}.deletion_proposals set status = $2, closed_at = now() where id = $1`, [id, status]);
}

/** After a complete scan: it says anew what is absent. The same ids keep their proposal, so that nobody approves into the void. */
async function replaceProposal(place: Place, before: OpenProposal | undefined, ids: readonly string[], rules: DeletionRules, rows: string) {
  const { client, schema, state } = place;
  const status = rules.deletions === 'none' ? 'kept' : 'open';
  if (before !== undefined && before.status === status && same(before.ids, ids)) return before.id;
  if (before !== undefined) await close(place, before.id, 'superseded');
  if (ids.length === 0) return null;
  const id = newId();
  const evidence = {
    runId: state.runId,
    mode: state.plan.mode,
    erpStartedAt: state.counters.erpStartedAt,
    rows: Number(rows),
    allowed: rules.deletions === 'reconcile' ? most(rows, rules.maxDeleteShare) : 0,
    feed: state.plan.feed,
  };
  await client.query(`insert into ${schema}.deletion_proposals (id, record_type, ids, evidence, status) values ($1, $2, $3, $4, $5)`, [
    id,
    state.recordType,
    ids,
    JSON.stringify(evidence),
    status,
  ]);
  return id;
}

/** Without a complete scan the open proposal stands, less what this run read or removed. */
async function keepProposal(place: Place, before: OpenProposal, table: string, removed: readonly string[]) {
  const { client, schema, state } = place;
  const { rows } = await client.query<{ count: string }>(
    `select count(*) from unnest($1::text[]) p(id) where p.id <> all($3::text[])
     and exists (select from ${schema}.${quoted(table)} t where t.id = p.id::${state.plan.idType === 'integer' ? 'bigint' : 'text'})
     and not exists (select from ${schema}.${quoted(stagingTable(state.recordType))} s where s.run_id = $2 and s.id::text = p.id)`,
    [before.ids, state.runId, removed],
  );
  const held = Number(rows[0]?.count ?? 0);
  if (held === 0) await close(place, before.id, 'superseded');
  return held;
}

/** Settles proposals and says how many records are held back, and where they are listed. */
export async function settleProposals(
  place: Place,
  table: string,
  { remove, stay }: Decision,
  rules: DeletionRules,
  rowCount: string,
): Promise<{ held: number; proposalId: string | null }> {
  const { client, schema, state } = place;
  for (const id of state.plan.approved) await close(place, id, 'applied');
  await client.query(`delete from ${schema}.deletion_proposals where record_type = $1 and closed_at < now() - interval '30 days'`, [
    state.recordType,
  ]);
  const { rows } = await client.query<OpenProposal>(
    `select id, ids, status from ${schema}.deletion_proposals where record_type = $1 and status in ('open', 'kept') for update`,
    [state.recordType],
  );
  const before = rows[0];
  const complete = state.plan.mode === 'full' || state.plan.scanned;
  if (complete) {
    const proposalId = await replaceProposal(place, before, stay, rules, rowCount);
    return rules.deletions === 'none' ? { held: 0, proposalId: null } : { held: stay.length, proposalId };
  }
  if (before === undefined || before.status === 'kept') return { held: 0, proposalId: null };
  const held = await keepProposal(place, before, table, remove);
  return { held, proposalId: held === 0 ? null : before.id };
}
