// Who used a version in the last 30 days.
import type { Item } from '../../api.ts';
import { formatDay, formatNumber } from '../../format.ts';
import { List, listQuery } from '../../parts/list.tsx';
import type { Column } from '../../parts/table.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';

type Caller = Item<'/api-schema/{id}/callers'>;

/** Of the last day that it was used, which has no time. */
export const formatLastDay = ({ lastDay }: Caller): string => formatDay(`${lastDay}T12:00:00Z`);

const columns: readonly Column<Caller>[] = [
  { title: 'API key', cell: ({ apiKeyId, name }) => <a href={`${base}/keys/${apiKeyId}`}>{name}</a> },
  { title: 'Status', cell: ({ status }) => status, minor: true },
  { title: 'Answered, 30 days', cell: ({ requests }) => formatNumber(requests), align: 'end' },
  { title: 'Last day', cell: formatLastDay, align: 'end' },
];

export const Callers = ({ id }: { id: string }) => (
  <List
    label="Callers"
    read={useGet('/api-schema/{id}/callers', { path: { id }, query: listQuery() })}
    columns={columns}
    rowKey={({ apiKeyId }) => apiKeyId}
    empty="No API key used this version in the last 30 days."
    next={<a href={`${base}/keys`}>API keys</a>}
  />
);
