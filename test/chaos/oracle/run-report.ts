// What the management interface says about a run: how it ended, why, and which records and fields it names as
// not up to date.
import { setTimeout as pause } from 'node:timers/promises';
import type { Answer, Api } from '../../setup/api.ts';

export type RunView = {
  readonly id: string;
  readonly syncConfigId: string;
  readonly mode: 'incremental' | 'full';
  readonly status: 'succeeded' | 'partial' | 'failed' | 'cancelled';
  readonly attempt: number;
  readonly generation: string | null;
  readonly counts: Readonly<
    Record<'fetched' | 'inserted' | 'updated' | 'unchanged' | 'deleted' | 'rejected', number>
  >;
  readonly error: { readonly code: string; readonly message: string; readonly fix: string } | null;
};
export type Proposal = { readonly id: string; readonly revision: number; readonly ids: readonly string[] };
/** What the run and its sync name. */
export type Named = {
  readonly stale: ReadonlySet<string>;
  readonly accepted: ReadonlySet<string>;
  readonly rejected: ReadonlySet<string>;
  readonly held: ReadonlySet<string>;
  readonly proposal: Proposal | null;
  /** All records were read in full since this time of the account. */
  readonly completeSince: Date | null;
};

const patienceMs = 60_000;

/** Repeats while the database is unavailable. Rejects with an Error for another response than this status. */
export async function ask(status: number, call: () => Promise<Answer>): Promise<Answer['body']> {
  for (const end = performance.now() + patienceMs; ; ) {
    const answer = await call();
    if (answer.status === status) return answer.body;
    if (answer.status < 500 || performance.now() > end)
      throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
    await pause(100);
  }
}

const listIds = (records: readonly { readonly id: string }[]): string[] => records.map(({ id }) => id);

/** The rest of a list that is served page by page. */
async function readRest(api: Api, path: string, first: Answer['body']): Promise<string[]> {
  const found = listIds(first.data);
  for (let page = 2; page <= first.pagination.totalPages; page += 1)
    found.push(...listIds((await ask(200, () => api('get', `${path}&page=${page}`))).data));
  return found;
}

async function readRejected(api: Api, run: RunView): Promise<string[]> {
  const path = `/sync-runs/${run.id}/rejections?pageSize=100`;
  return readRest(api, path, await ask(200, () => api('get', path)));
}

/** The proposal that waits for a decision. */
export async function readProposal(api: Api, configId: string): Promise<Proposal | null> {
  const path = `/sync-configs/${configId}/deletion-proposals`;
  const { data } = await ask(200, () => api('get', `${path}?status=open`));
  const [open] = data;
  if (open === undefined) return null;
  const ids: string[] = [];
  for (let after = ''; ; ) {
    const detail = await ask(200, () => api('get', `${path}/${open.id}?limit=1000${after}`));
    ids.push(...listIds(detail.records));
    if (detail.nextAfter === null) return { id: open.id, revision: detail.revision, ids };
    after = `&after=${detail.nextAfter}`;
  }
}

export const readRun = (api: Api, id: string): Promise<RunView> =>
  ask(200, () => api('get', `/sync-runs/${id}`));

export async function readNamed(api: Api, run: RunView): Promise<Named> {
  const config = await ask(200, () => api('get', `/sync-configs/${run.syncConfigId}`));
  const fields = (gaps: readonly { field: string }[]): Set<string> => new Set(gaps.map(({ field }) => field));
  const proposal = run.status === 'partial' ? await readProposal(api, run.syncConfigId) : null;
  return {
    stale: fields(config.staleFields),
    accepted: fields(config.acceptedFields),
    rejected: new Set(run.status === 'partial' ? await readRejected(api, run) : []),
    held: new Set(proposal?.ids ?? []),
    proposal,
    completeSince: config.fullRead.completeSince === null ? null : new Date(config.fullRead.completeSince),
  };
}
