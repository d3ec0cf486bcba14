// A person decides about deletions that wait for approval, through the management interface: looks at the
// proposal, approves all of it or a part, rejects it, or takes a rejection back.
import type { Stage } from '../actions.ts';
import type { Decision } from '../plan.ts';
import type { RecordTypeName } from '../plan-names.ts';
import { createRandom } from '../random.ts';

type Proposal = {
  readonly id: string;
  readonly revision: number;
  readonly status: string;
  readonly count: number;
};
type Viewed = Proposal & { readonly ids: readonly string[] };

const pageSize = 50;

async function listProposals(
  { company }: Stage,
  recordType: RecordTypeName,
  status: 'open' | 'rejected',
): Promise<Proposal[]> {
  const path = `/sync-configs/${company.configId(recordType)}/deletion-proposals?status=${status}`;
  return (await company.ask(200, () => company.api('get', path))).data;
}

/** With all of its ids, page by page. */
async function view({ company }: Stage, recordType: RecordTypeName, { id }: Proposal): Promise<Viewed> {
  const ids: string[] = [];
  for (let after: string | null = null; ; ) {
    const query: string = after === null ? '' : `&after=${after}`;
    const path = `/sync-configs/${company.configId(recordType)}/deletion-proposals/${id}?limit=${pageSize}${query}`;
    const page = await company.ask(200, () => company.api('get', path));
    ids.push(...page.records.map((record: { id: string }) => record.id));
    after = page.nextAfter;
    if (after === null) return { ...page, ids };
  }
}

/** Whether the decision counted: a run may supersede the proposal at any moment. */
async function decide(stage: Stage, path: string, body: object): Promise<boolean> {
  const { company } = stage;
  const answer = await company.ask([200, 202, 422], () => company.api('post', path, body));
  stage.report.note(`decision ${path.split('/').at(-1)}: ${answer.status === 422 ? 'too late' : 'accepted'}`);
  return answer.status !== 422;
}

/** `ids` null: all. Noted before it is requested, because its response can be lost. */
function approve(
  stage: Stage,
  recordType: RecordTypeName,
  { id, revision, ids: all }: Viewed,
  ids: readonly string[] | null,
) {
  stage.ledger.approved({ recordType, ids: ids ?? all });
  const body = { proposalId: id, revision, ...(ids !== null && { ids }) };
  return decide(stage, `/sync-configs/${stage.company.configId(recordType)}/approve-deletions`, body);
}

function reject(stage: Stage, recordType: RecordTypeName, { id, revision, ids }: Viewed) {
  stage.ledger.kept({ recordType, ids });
  const path = `/sync-configs/${stage.company.configId(recordType)}/deletion-proposals/${id}/reject`;
  return decide(stage, path, { revision, reason: 'They stay.' });
}

/** Does nothing when there is nothing to decide. Rejects as `company.ask`. */
export async function decideDeletions(
  stage: Stage,
  { recordType, seed, decision: wanted }: { recordType: RecordTypeName; seed: number; decision?: Decision },
  hit: () => void,
): Promise<void> {
  if (!stage.plan.recordTypes.includes(recordType)) return;
  const random = createRandom(seed);
  const drawn = random.pick(['all', 'part', 'reject', 'look', 'take back'] as const);
  const decision = wanted ?? drawn;
  const [proposal] = await listProposals(stage, recordType, decision === 'take back' ? 'rejected' : 'open');
  if (proposal === undefined) return;
  const viewed = await view(stage, recordType, proposal);
  if (viewed.ids.length === 0 || decision === 'look') return;
  const some = random.sample(viewed.ids, random.between(1, viewed.ids.length));
  const isDone =
    decision === 'reject'
      ? await reject(stage, recordType, viewed)
      : await approve(stage, recordType, viewed, decision === 'part' ? some : null);
  if (isDone) hit();
}

/** In the quiet phase: approves whatever is open, which the account really lacks then. */
export async function approveOpenDeletions(stage: Stage, recordType: RecordTypeName): Promise<void> {
  for (const proposal of await listProposals(stage, recordType, 'open'))
    await approve(stage, recordType, await view(stage, recordType, proposal), null);
}
