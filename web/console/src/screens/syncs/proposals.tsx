// Deletions that were held back, of one sync: the one that waits for a decision, and those that were decided.
import type { Item } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { type States, stateColumn, stateFilter } from '../../parts/detail.tsx';
import { List, listQuery } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import type { SyncConfig } from './words.ts';

type ProposalStatus = Item<'/sync-configs/{id}/deletion-proposals'>['status'];

export const proposalStates: States<ProposalStatus> = {
  open: ['warn', 'Waits for a decision'],
  kept: ['calm', 'Kept'],
  approved: ['busy', 'Approved'],
  applied: ['good', 'Carried out'],
  rejected: ['calm', 'Rejected'],
  superseded: ['calm', 'Replaced'],
};

export function Proposals({ sync: { id: syncId } }: { sync: SyncConfig }) {
  const read = useGet('/sync-configs/{id}/deletion-proposals', {
    path: { id: syncId },
    query: listQuery<{ status: ProposalStatus }>('status'),
  });
  return (
    <Section title="Held deletions">
      <div class="stack">
        <p class="muted">
          Records that are absent in the ERP without an explanation wait here when they are more than this
          sync deletes without asking, or when other records refer to them.
        </p>
        <List
          label="List of held deletions"
          read={read}
          columns={[
            {
              title: 'Found',
              cell: ({ id, createdAt }) => (
                <a href={`${base}/syncs/${syncId}/deletions/${id}`}>
                  <Time at={createdAt} />
                </a>
              ),
            },
            stateColumn(proposalStates),
            { title: 'Records', align: 'end', cell: ({ count }) => formatNumber(count) },
            {
              title: 'Referred to by others',
              align: 'end',
              minor: true,
              cell: ({ evidence: { referenced } }) => referenced && formatNumber(referenced),
            },
            { title: 'Closed', minor: true, cell: ({ closedAt }) => <Time at={closedAt} /> },
          ]}
          filters={[stateFilter(proposalStates)]}
          empty="No deletion was held."
        />
      </div>
    </Section>
  );
}
