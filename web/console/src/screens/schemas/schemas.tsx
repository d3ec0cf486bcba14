// The versions of the public interface.
import type { Answer, Item } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { stateFilter, WordBadge } from '../../parts/detail.tsx';
import { List, listQuery, searchFilter } from '../../parts/list.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { ActionButton, OpenButton } from '../../parts/record-form.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { versionState, versionStates } from '../../states.ts';
import { createFrom, NewDraft } from './new-draft.tsx';
import { NothingSynced } from './record-type-choice.tsx';

type Version = Item<'/api-schema'>;
type Counted = NonNullable<Answer<'/overview'>['versions']>[number];

const filters = [searchFilter('Search names'), stateFilter(versionStates)];

function Dates({ publishedAt, deprecatedAt, sunsetAt, updatedAt, status }: Version) {
  const isDraft = status === 'draft';
  const word = isDraft ? 'changed' : sunsetAt ? 'sunset' : deprecatedAt ? 'deprecated' : 'since';
  return (
    <span class={sunsetAt ? '' : 'muted'}>
      {word} <Time at={sunsetAt ?? deprecatedAt ?? publishedAt ?? updatedAt} relative={isDraft} />
    </span>
  );
}

function Callers({ counted }: { counted: Counted | undefined }) {
  const { callers7Days: callers = null, requests7Days: requests = null } = counted ?? {};
  if (!callers) return <span class="muted">{callers === 0 ? 'none in 7 days' : '–'}</span>;
  return (
    <span title={`${formatCount(requests ?? 0, 'request')} in the last 7 days`}>
      {formatCount(callers, 'API key')} · {formatNumber(requests ?? 0)}
    </span>
  );
}

/** `a, b, c and 4 more`. */
const formatFirst = (names: readonly string[], max: number): string =>
  `${names.slice(0, max).join(', ')}${names.length > max ? ` and ${names.length - max} more` : ''}`;

const createColumns = (counts: readonly Counted[]): readonly Column<Version>[] => [
  { title: 'Version', cell: ({ id, version }) => <a href={`${base}/schemas/${id}`}>{version}</a> },
  { title: 'Name', cell: ({ name }) => name || <span class="muted">–</span>, minor: true },
  {
    title: 'State',
    cell: ({ status, publication }) => <WordBadge state={versionState(status, publication?.status)} />,
  },
  {
    title: 'Resources',
    cell: ({ endpoints }) =>
      formatFirst(
        endpoints.map(({ name }) => name),
        3,
      ) || <span class="muted">none</span>,
    minor: true,
  },
  { title: 'Callers, 7 days', cell: ({ id }) => <Callers counted={counts.find((one) => one.id === id)} /> },
  { title: 'Since', cell: Dates, minor: true },
];

export function Schemas() {
  const read = useGet('/api-schema', {
    query: listQuery<{ q: string; status: Version['status'] }>('q', 'status'),
  });
  const overview = useGet('/overview');
  const versions = (read.data?.data ?? []).filter(({ endpoints }) => endpoints.length > 0);
  return (
    <Page
      title="API versions"
      lead="What callers read: resources with fields, filters and sorts. A published version never changes, and works until you retire it."
      actions={
        may('api-schema:create') && (
          <OpenButton label="New draft" kind="primary">
            {(close) => <NewDraft versions={versions} onClose={close} />}
          </OpenButton>
        )
      }
    >
      <List
        label="API versions"
        read={read}
        columns={createColumns(overview.data?.versions ?? [])}
        filters={filters}
        empty={may('api-schema:create') ? <FirstDraft /> : 'No version has been made yet.'}
      />
    </Page>
  );
}

/** The first draft is made of everything that is synced, by one click. */
function FirstDraft() {
  const syncs = useGet(may('sync:read') ? '/sync-configs' : null, { query: { pageSize: 50 } });
  const synced = (syncs.data?.data ?? [])
    .filter(({ syncedAt }) => syncedAt !== null)
    .map(({ recordType }) => recordType);
  if (synced.length === 0)
    return <NothingSynced title="No version yet, and no record type with a complete sync." />;
  return (
    <Empty title="No version yet.">
      <p>
        Synced: {formatFirst(synced, 6)}. Names, filters and sorts are proposed from the records; you can
        change all of them.
      </p>
      <ActionButton
        label={`Draft a version from ${formatCount(synced.length, 'record type')}`}
        busyLabel="Reading the records…"
        kind="primary"
        run={() => createFrom(synced)}
      />
    </Empty>
  );
}
