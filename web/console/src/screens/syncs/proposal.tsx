// Held deletions: the records that would be deleted with what is known of each, to approve all or some of
// them, or to reject them.
import { useState } from 'preact/hooks';
import { formatAmount, formatCount, formatNumber } from '../../format.ts';
import { StateLead, Unread } from '../../parts/detail.tsx';
import { Facts } from '../../parts/list.tsx';
import { Empty, Page, Section } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base, query, type ScreenProps, setQuery } from '../../router.ts';
import { may } from '../../session.ts';
import '../../styles/syncs.css';
import { withNames } from '../../names.ts';
import { Decide, type ProposalDetail } from './decide.tsx';
import { proposalStates } from './proposals.tsx';
import { modeWords } from './words.ts';

type AbsentRecord = ProposalDetail['records'][number];

const limit = 100;

const feeds = {
  available: 'Readable, and it does not list these records',
  hidden: 'Hidden from the role of the connection',
  unknown: 'Not known',
} as const;

const meanings: Readonly<Record<ProposalDetail['status'], string>> = {
  open: 'The records stay until a person approves or rejects their deletion.',
  kept: 'This sync deletes nothing, so there is nothing to decide.',
  approved: 'The next run looks up each record in the ERP once more and deletes those that are still absent.',
  applied: 'A run deleted the records that were still absent in the ERP.',
  rejected:
    'The records stay and are not proposed again while they are absent. Approving them takes the rejection back.',
  superseded: 'Another proposal replaced this one, or none of its records is absent any more.',
};

function Evidence({ proposal: { count, evidence } }: { proposal: ProposalDetail }) {
  const { runId, mode, rows, allowed, feed, referenced } = evidence;
  return (
    <Section title="Evidence">
      <div class="card">
        <Facts
          facts={[
            [
              'Absent in the ERP',
              formatNumber(count) + (rows === null ? '' : ` of ${formatCount(rows, 'stored record')}`),
            ],
            [
              'Found by',
              runId !== null && (
                <a href={`${base}/runs/${runId}`}>
                  {mode === null ? 'A run' : `${modeWords[mode]} run`} that compared all records
                </a>
              ),
            ],
            [
              'Deleted without asking',
              allowed !== null && `At most ${formatCount(allowed, 'record')}, and none that others refer to`,
            ],
            ["The ERP's list of deletions", feed !== null && feeds[feed]],
            ['Referred to by others', referenced !== null && `${formatCount(referenced, 'record')} of these`],
          ]}
        />
      </div>
    </Section>
  );
}

type Selection = {
  readonly chosen: ReadonlySet<string>;
  readonly choose: (ids: readonly string[], on: boolean) => void;
};

/** Date and amount are left out where no record has them. */
function createColumns(records: readonly AbsentRecord[], { chosen, choose }: Selection, canChoose: boolean) {
  const columns: readonly (Column<AbsentRecord> | false)[] = [
    canChoose && {
      title: 'Delete',
      cell: ({ id, number }) => (
        <input
          type="checkbox"
          aria-label={`Delete ${number ?? id}`}
          checked={chosen.has(id)}
          onChange={(event) => choose([id], event.currentTarget.checked)}
        />
      ),
    },
    {
      title: 'Record',
      cell: ({ id, number, name }) => (
        <>
          {number ?? name ?? id}
          <span class="fine">
            {number !== null && name !== null && `${name} · `}id {id}
          </span>
        </>
      ),
    },
    records.some(({ date }) => date !== null) && { title: 'Date', minor: true, cell: ({ date }) => date },
    records.some(({ amount }) => amount !== null) && {
      title: 'Amount',
      align: 'end',
      minor: true,
      cell: ({ amount }) => amount !== null && formatAmount(amount),
    },
    { title: 'Last in the ERP', cell: ({ lastSeenAt }) => <Time at={lastSeenAt} none="not known" /> },
    {
      title: 'Referred to by',
      cell: ({ referencedBy }) =>
        referencedBy
          .map(({ recordType, field, count }) => `${formatCount(count, `${recordType} record`)} (${field})`)
          .join(', ') || <span class="muted">none</span>,
    },
  ];
  return columns.filter((column) => column !== false);
}

function Records({
  proposal,
  selection,
  canChoose,
}: {
  proposal: ProposalDetail;
  selection: Selection;
  canChoose: boolean;
}) {
  const { records, nextAfter, count } = proposal;
  const ids = records.map(({ id }) => id);
  const isAll = ids.length > 0 && ids.every((id) => selection.chosen.has(id));
  const after = query.value.get('after');
  const show = (next: string | null): void => setQuery({ after: next }, { replace: false });
  return (
    <Section
      title="Records"
      actions={
        canChoose && (
          <button type="button" onClick={() => selection.choose(ids, !isAll)}>
            {isAll
              ? 'Clear the selection'
              : count > ids.length
                ? `Select the ${formatNumber(ids.length)} on this page`
                : 'Select all'}
          </button>
        )
      }
    >
      <Table
        label="Records that would be deleted"
        columns={createColumns(records, selection, canChoose)}
        rows={records}
        rowKey={({ id }) => id}
        empty={<Empty title="No record is left in this proposal." />}
      />
      {(after !== null || nextAfter !== null) && (
        <nav class="pager" aria-label="Pages">
          <span>{formatCount(count, 'record')} in all</span>
          <button type="button" disabled={after === null} onClick={() => show(null)}>
            First page
          </button>
          <button type="button" disabled={nextAfter === null} onClick={() => show(nextAfter)}>
            Next
          </button>
        </nav>
      )}
    </Section>
  );
}

function Loaded({ syncId, proposal }: { syncId: string; proposal: ProposalDetail }) {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const { status } = proposal;
  const canDecide = may('sync:approve-deletions') && (status === 'open' || status === 'rejected');
  const choose: Selection['choose'] = (ids, on) => setChosen((before) => withNames(before, ids, on));
  return (
    <div class="stack">
      <p class={`note ${status === 'open' ? 'warn' : ''}`}>{meanings[status]}</p>
      {canDecide && <Decide syncId={syncId} proposal={proposal} chosen={[...chosen]} />}
      <Evidence proposal={proposal} />
      <Records proposal={proposal} selection={{ chosen, choose }} canChoose={canDecide} />
    </div>
  );
}

/** `/syncs/:id/deletions/:proposalId` */
export function ProposalScreen({ params }: ScreenProps) {
  const { id = '', proposalId = '' } = params;
  const after = query.value.get('after');
  const read = useGet('/sync-configs/{id}/deletion-proposals/{proposalId}', {
    path: { id, proposalId },
    query: { limit, ...(after !== null && { after }) },
  });
  // While the next page is read, the one before stays.
  const [shown, setShown] = useState(read.data);
  if (read.data !== undefined && read.data !== shown) setShown(read.data);
  const above = [
    { to: `${base}/syncs`, title: 'Syncs' },
    { to: `${base}/syncs/${id}`, title: shown?.recordType ?? 'Sync' },
    { to: `${base}/syncs/${id}?show=deletions`, title: 'Held deletions' },
  ];
  if (shown === undefined) return <Unread read={read} title="Held deletions" above={above} />;
  return (
    <Page
      title={`${formatCount(shown.count, 'held deletion')} of ${shown.recordType}`}
      above={above}
      lead={
        <StateLead state={proposalStates[shown.status]}>
          Found <Time at={shown.createdAt} relative />
        </StateLead>
      }
    >
      <Problem error={read.error} retry={() => void read.reload()} />
      <Loaded syncId={id} proposal={shown} />
    </Page>
  );
}
