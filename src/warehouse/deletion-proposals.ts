// Proposals to delete absent records, as publishing closes, replaces, shrinks or keeps them. At most one per
// record type is `open` or `kept`, and at most one is `rejected`. An administrator may approve or reject
// meanwhile: all writers lock the rows in the order of ids.
import { createId } from '../core/id.ts';
import {
  type DeletionDecision,
  type DeletionHistory,
  type DeletionRules,
  decideDeletions,
  historyOn,
  idCast,
  noDeletions,
  type RunTarget,
  readAbsent,
  remainingDeletions,
} from './deletions.ts';
import { type LocalView, queryIds, queryLocal } from './local-view.ts';
import type { RunState } from './run-state-row.ts';
import { quoteIdentifier, stagingTable } from './table.ts';

type LiveProposal = { id: string; ids: string[]; status: 'open' | 'kept' | 'rejected' | 'approved' };
type Proposals = {
  readonly open: LiveProposal | undefined;
  readonly rejected: LiveProposal | undefined;
  /** Ids whose deletion was approved after this run read the approvals: the next run carries it out. */
  readonly approved: ReadonlySet<string>;
};

async function lockProposals({ client, schema, state }: RunTarget): Promise<Proposals> {
  const { rows } = await client.query<LiveProposal>(
    `select id, ids, status from ${schema}.deletion_proposals where record_type = $1 and status in ('open', 'kept', 'rejected', 'approved')
     and id <> all($2::uuid[]) order by id for update`,
    [state.recordType, state.plan.approved],
  );
  return {
    open: rows.find(({ status }) => status === 'open' || status === 'kept'),
    rejected: rows.find(({ status }) => status === 'rejected'),
    approved: new Set(rows.filter(({ status }) => status === 'approved').flatMap(({ ids }) => ids)),
  };
}

const haveSameIds = (a: readonly string[], b: readonly string[]): boolean => {
  const ids = new Set(a);
  return a.length === b.length && b.every((id) => ids.has(id));
};

async function closeProposal({ client, schema }: RunTarget, id: string, status: 'superseded' | 'applied') {
  await client.query(`update ${schema}.deletion_proposals set status = $2, closed_at = now() where id = $1`, [
    id,
    status,
  ]);
}

/** Reduces a proposal to the ids that remain of it, and closes it when none does. */
async function shrinkProposal(target: RunTarget, proposal: LiveProposal | undefined, ids: readonly string[]) {
  if (proposal === undefined || haveSameIds(proposal.ids, ids)) return;
  if (ids.length === 0) return closeProposal(target, proposal.id, 'superseded');
  await target.client.query(
    `update ${target.schema}.deletion_proposals set ids = $2, revision = revision + 1 where id = $1`,
    [proposal.id, ids],
  );
}

/** `allowed`: how many unconfirmed deletions the run might carry out. */
type Settled = {
  readonly referenced: ReadonlySet<string>;
  readonly rules: DeletionRules;
  readonly rowCount: string;
  readonly allowed: number;
};

/** What the run knows when it holds deletions back. */
const buildEvidence = ({ state }: RunTarget, { rules, rowCount, allowed }: Settled, referenced: number) =>
  JSON.stringify({
    runId: state.runId,
    mode: state.plan.mode,
    erpStartedAt: state.counters.erpStartedAt,
    rows: Number(rowCount),
    allowed:
      rules.deletions === 'reconcile' || (rules.deletions === 'feed' && state.plan.feed === 'hidden')
        ? allowed
        : 0,
    feed: state.plan.feed,
    referenced,
  });

/**
 * After a complete comparison, which supersedes earlier ones. The same ids keep their proposal and its
 * revision; the evidence is new.
 */
async function replaceProposal(
  target: RunTarget,
  before: LiveProposal | undefined,
  ids: readonly string[],
  status: 'open' | 'kept',
  evidence: string,
): Promise<string | null> {
  const { client, schema, state } = target;
  if (before !== undefined && before.status === status && haveSameIds(before.ids, ids)) {
    await client.query(`update ${schema}.deletion_proposals set evidence = $2 where id = $1`, [
      before.id,
      evidence,
    ]);
    return before.id;
  }
  if (before !== undefined) await closeProposal(target, before.id, 'superseded');
  if (ids.length === 0) return null;
  const id = createId();
  await client.query(
    `insert into ${schema}.deletion_proposals (id, record_type, ids, evidence, status) values ($1, $2, $3, $4, $5)`,
    [id, state.recordType, ids, evidence, status],
  );
  return id;
}

/** The given ids that the table still has after this run's deletions, and that the run did not read. */
async function filterRemaining(
  { client, schema, state }: RunTarget,
  table: string,
  ids: readonly string[],
  removed: readonly string[],
): Promise<string[]> {
  if (ids.length === 0) return [];
  const { rows } = await client.query<{ id: string }>(
    `select p.id from unnest($1::text[]) with ordinality p(id, n) where p.id <> all($3::text[])
     and exists (select from ${schema}.${quoteIdentifier(table)} t where t.id = ${idCast('p.id', state)})
     and not exists (select from ${schema}.${quoteIdentifier(stagingTable(state.recordType))} s where s.run_id = $2 and s.id::text = p.id)
     order by p.n`,
    [ids, state.runId, removed],
  );
  return rows.map(({ id }) => id);
}

/**
 * Stores when each absent record was last seen and what references it. `known`: ids that were found absent
 * before, of which the last complete comparison says nothing.
 */
async function saveAbsentRecords(
  { client, schema, state }: RunTarget,
  table: string,
  ids: readonly string[],
  known: readonly string[],
): Promise<void> {
  await client.query(
    `insert into ${schema}.absent_records (record_type, id, last_seen_at, referenced_by)
     select $1, p.id, case when p.id = any($4::text[]) then t.changed_at else greatest(r.compared_at, t.changed_at) end, d.referenced_by
     from unnest($3::text[]) p(id) join ${schema}.${quoteIdentifier(table)} t on t.id = ${idCast('p.id', state)}
     join ${schema}.record_state r on r.record_type = $1 left join ${schema}.staged_deletions d on d.run_id = $2 and d.id = p.id
     on conflict (record_type, id) do update set referenced_by = excluded.referenced_by`,
    [state.recordType, state.runId, ids, known],
  );
}

/** Deletes what is stored of records that no proposal lists any more. */
async function pruneAbsentRecords({ client, schema, state }: RunTarget): Promise<void> {
  await client.query(
    `delete from ${schema}.absent_records where record_type = $1 and id not in (select unnest(ids) from ${schema}.deletion_proposals
       where record_type = $1 and status in ('open', 'kept', 'rejected', 'approved'))`,
    [state.recordType],
  );
}

/** Whether the run compared all ids: absent records that it did not find absent are no longer absent. */
const isComplete = ({ plan }: RunState): boolean =>
  plan.scanned || (plan.mode === 'full' && plan.facts['absent'] !== undefined);

type Held = { readonly held: number; readonly proposalId: string | null };

async function updateAfterComparison(
  target: RunTarget,
  table: string,
  { open, rejected, approved }: Proposals,
  decision: DeletionDecision,
  settled: Settled,
): Promise<Held> {
  const { rules, referenced } = settled;
  await shrinkProposal(target, rejected, decision.rejected);
  const ids = decision.stay.filter((id) => !approved.has(id));
  const status = rules.deletions === 'none' ? 'kept' : 'open';
  const evidence = buildEvidence(target, settled, ids.filter((id) => referenced.has(id)).length);
  const proposalId = await replaceProposal(target, open, ids, status, evidence);
  const listed = [...(open?.ids ?? []), ...(rejected?.ids ?? []), ...approved];
  await saveAbsentRecords(target, table, [...decision.stay, ...decision.rejected], listed);
  return rules.deletions === 'none'
    ? { held: 0, proposalId: null }
    : { held: decision.stay.length, proposalId };
}

async function updateWithoutComparison(
  target: RunTarget,
  table: string,
  { open, rejected, approved }: Proposals,
  remove: readonly string[],
) {
  await shrinkProposal(target, rejected, await filterRemaining(target, table, rejected?.ids ?? [], remove));
  const remaining = await filterRemaining(target, table, open?.ids ?? [], remove);
  await shrinkProposal(target, open, remaining);
  const pending = await filterRemaining(target, table, [...approved], remove);
  if (open?.status === 'kept') return { held: 0, proposalId: null };
  return {
    held: remaining.length + pending.length,
    proposalId: remaining.length === 0 ? null : (open?.id ?? null),
  };
}

async function readHistory({ client, schema, state }: RunTarget): Promise<DeletionHistory> {
  const { rows } = await client.query<{ deletion_history: DeletionHistory | null }>(
    `select deletion_history from ${schema}.record_state where record_type = $1`,
    [state.recordType],
  );
  return rows[0]?.deletion_history ?? noDeletions;
}
const writeHistory = ({ client, schema, state }: RunTarget, history: DeletionHistory) =>
  client.query(`update ${schema}.record_state set deletion_history = $2 where record_type = $1`, [
    state.recordType,
    JSON.stringify(history),
  ]);

/**
 * Decides about the absent rows of `table` and updates the record type's proposals. Returns the ids to
 * delete, how many records are held back, and the proposal that lists them. The caller deletes the rows in
 * the same transaction.
 */
export async function settleDeletions(
  target: RunTarget,
  table: string,
  rules: DeletionRules,
  rowCount: string,
): Promise<Held & { readonly remove: readonly string[] }> {
  const { client, schema, state } = target;
  const proposals = await lockProposals(target);
  const found = await readAbsent(target, table);
  const known = historyOn(await readHistory(target), state.plan.today, rowCount);
  // What the ERP reports of changes it soon forgets: later deletions may be missing in it.
  const isListed = found.listed.size > 0 && (state.plan.changeToken ?? null) === null;
  const history = { ...known, listed: known.listed || isListed };
  const allowed = remainingDeletions(history, rules.maxDeleteShare);
  const rejected = new Set(proposals.rejected?.ids);
  const decision = decideDeletions({ ...found, rejected }, { rowCount, allowed }, rules, state.plan.feed);
  const unconfirmed = decision.remove.filter((id) => !found.confirmed.has(id)).length;
  await writeHistory(target, { ...history, unconfirmed: history.unconfirmed + unconfirmed });
  for (const id of state.plan.approved) await closeProposal(target, id, 'applied');
  await client.query(
    `delete from ${schema}.deletion_proposals where record_type = $1 and closed_at < now() - interval '30 days'`,
    [state.recordType],
  );
  const settled = { referenced: found.referenced, rules, rowCount, allowed };
  const held = isComplete(state)
    ? await updateAfterComparison(target, table, proposals, decision, settled)
    : await updateWithoutComparison(target, table, proposals, decision.remove);
  await pruneAbsentRecords(target);
  return { remove: decision.remove, ...held };
}

/** Ids of the open deletion proposal that were held back because stored records named them. */
export async function listReferencedIds(local: LocalView, state: RunState): Promise<string[]> {
  const { schema } = local.prepared;
  return queryIds(
    local,
    `select a.id from ${schema}.absent_records a where a.record_type = $1 and a.referenced_by is not null
     and a.id in (select unnest(p.ids) from ${schema}.deletion_proposals p where p.record_type = $1 and p.status = 'open')`,
    [state.recordType],
  );
}

/** Approved deletion proposals that no run has carried out yet. */
export async function listApprovedProposals(
  local: LocalView,
  state: RunState,
): Promise<{ id: string; ids: string[] }[]> {
  return queryLocal(
    local,
    `select id, ids from ${local.prepared.schema}.deletion_proposals where record_type = $1 and status = 'approved'`,
    [state.recordType],
  );
}

/** The given ids that the last scan found absent and that a deletion proposal lists. */
export async function filterProposedIds(local: LocalView, state: RunState, ids: readonly string[]) {
  const found = await queryIds(
    local,
    `select h.id from ${local.prepared.schema}.deletion_proposals p, unnest(p.ids) h(id)
     where p.record_type = $1 and p.status in ('open', 'kept', 'approved', 'rejected') and h.id = any($2::text[])`,
    [state.recordType, ids],
  );
  return new Set(found);
}
