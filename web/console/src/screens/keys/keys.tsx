import type { Item } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { StateBadge, type States, stateFilter } from '../../parts/detail.tsx';
import { List, listQuery, searchFilter } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import type { Column } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import '../../styles/keys.css';
import { scopeWords } from './scope-words.ts';

type Key = Item<'/api-keys'>;

const states: States<Key['status']> = {
  active: ['good', 'active'],
  expired: ['warn', 'expired'],
  revoked: ['calm', 'revoked'],
};
export const KeyStatus = ({ status }: { status: Key['status'] }) => (
  <StateBadge states={states} state={status} />
);

export const above = [{ to: `${base}/keys`, title: 'API keys' }];

/** The end of the key, or that of its secret, whichever comes first. */
const findEarliestEnd = ({ expiresAt, secretEndsAt }: Key): string | null =>
  [expiresAt, secretEndsAt].filter((at) => at !== null).sort()[0] ?? null;

const columns: readonly Column<Key>[] = [
  {
    title: 'Name',
    sort: 'name',
    cell: ({ id, name, prefix }) => (
      <>
        <a href={`${base}/keys/${id}`}>{name}</a>
        <code class="fine nowrap">{prefix}…</code>
      </>
    ),
  },
  {
    title: 'Scopes',
    cell: ({ scopes }) => <span class="key-scopes">{scopeWords(scopes)}</span>,
    minor: true,
  },
  {
    title: 'Requests, 7 days',
    align: 'end',
    cell: ({ requestsLast7Days }) => formatNumber(requestsLast7Days),
  },
  {
    title: 'Last used',
    sort: 'lastUsedAt',
    cell: ({ lastUsedAt }) => <Time at={lastUsedAt} relative none="Never" />,
  },
  {
    title: 'Expires',
    sort: 'expiresAt',
    cell: (key) => <Time at={findEarliestEnd(key)} relative none="Never" />,
    minor: true,
  },
  { title: 'Status', cell: ({ status }) => <KeyStatus status={status} /> },
];

type Filters = {
  q: string;
  status: Key['status'];
  sort: 'name' | 'lastUsedAt' | 'expiresAt';
  order: 'asc' | 'desc';
};

export const Keys = () => (
  <Page
    title="API keys"
    lead="Programs read your records with an API key. Each key reads what its scopes allow."
    actions={
      may('api-key:create') && (
        <a class="button primary" href={`${base}/keys/new`}>
          Create an API key
        </a>
      )
    }
  >
    <List
      label="API keys"
      read={useGet('/api-keys', { query: listQuery<Filters>('q', 'status', 'sort', 'order') })}
      filters={[searchFilter('Search by name'), stateFilter(states, 'Status', 'status', 'Any status')]}
      columns={columns}
      empty="There are no API keys yet."
      next={may('api-key:create') && <a href={`${base}/keys/new`}>Create one for the program that reads</a>}
    />
  </Page>
);
