// How a key is used: requests by day as a plot, and by resource, version or subject as a table.
import type { Answer } from '../../api.ts';
import { formatCount, formatDay, formatNumber } from '../../format.ts';
import { List, listQuery, SelectFilter, selectFilter } from '../../parts/list.tsx';
import { Empty, Section } from '../../parts/page.tsx';
import { type Bar, Bars } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useGet } from '../../query.ts';
import { setQuery } from '../../router.ts';

type Usage = Answer<'/api-keys/{id}/usage'>['data'][number];
type Part = { readonly version?: string; readonly resource?: string };
const computeDay = (daysAgo: number): string =>
  new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);
const dayWords = (day: string): string => formatDay(`${day}T12:00:00`);

const groupings = {
  resource: ['version,resource', 'Resource'],
  version: ['version', 'Version'],
  subject: ['subject', 'Subject'],
} as const;
type Grouping = keyof typeof groupings;

export function UsageSection({ id }: { id: string }) {
  const {
    by = 'resource',
    days: given,
    ...part
  } = listQuery<Part & { by: Grouping; days: string }>('by', 'days', 'version', 'resource');
  const { page, pageSize, ...only } = part;
  const days = given === '7' ? 7 : given === '90' ? 90 : 30;
  const [groupBy, title] = groupings[by] ?? groupings.resource;
  const params = { path: { id } };
  const period = { from: computeDay(days - 1), to: computeDay(0) };
  const byDay = useGet('/api-keys/{id}/usage', {
    ...params,
    query: { ...period, ...only, groupBy: 'day', pageSize: 100 },
  });
  const grouped = useGet('/api-keys/{id}/usage', {
    ...params,
    query: { ...period, groupBy, page, pageSize },
  });
  return (
    <Section
      title="Usage"
      actions={
        <SelectFilter
          label="Period"
          name="days"
          any="30 days"
          options={[
            ['7', '7 days'],
            ['90', '90 days'],
          ]}
        />
      }
    >
      <Problem error={byDay.error} retry={() => void byDay.reload()} />
      <div class="stack">
        {byDay.data !== undefined && <ByDay usage={byDay.data.data} days={days} only={only} />}
        <div>
          <List
            label="Requests by group"
            read={grouped}
            rowKey={(row) => toGroupName(row, by)}
            filters={[
              selectFilter('Group by', 'by', 'By resource', [
                ['version', 'By version'],
                ['subject', 'By subject of tokens'],
              ]),
            ]}
            empty={null}
            columns={[{ title, cell: (row) => <GroupName row={row} by={by} /> }, ...counts]}
          />
        </div>
      </div>
    </Section>
  );
}

/** Shows one row of the table alone in the plot; an empty one shows all. */
const showOnly = ({ version, resource }: Partial<Pick<Usage, 'version' | 'resource'>>): void =>
  setQuery({ version: version ?? null, resource: resource ?? null });

/** One bar a day, also for days without requests. */
const toBars = (usage: readonly Usage[], days: number): Bar[] =>
  Array.from({ length: days }, (_, index) => {
    const day = computeDay(days - 1 - index);
    const { requests = 0, refused = 0, failed = 0 } = usage.find((one) => one.day === day) ?? {};
    const title = `${dayWords(day)}: ${formatCount(requests, 'request')}, ${badWords(refused, failed)}`;
    const parts = [
      { value: requests - refused - failed, tone: 'busy' as const },
      { value: refused, tone: 'warn' as const },
      { value: failed, tone: 'bad' as const },
    ];
    return { key: day, parts, title };
  });

const badWords = (refused: number, failed: number): string =>
  `${formatNumber(refused)} refused, ${formatNumber(failed)} failed`;

function ByDay({
  usage,
  days,
  only: { version, resource },
}: {
  usage: readonly Usage[];
  days: number;
  only: Part;
}) {
  if (usage.length === 0)
    return (
      <Empty title={`No requests in the last ${days} days.`}>
        <p>Requests are counted about ten seconds after they were made.</p>
      </Empty>
    );
  const sum = (name: 'requests' | 'refused' | 'failed'): number =>
    usage.reduce((total, one) => total + one[name], 0);
  const part = [version, resource].filter((name) => name !== undefined).join(' ');
  return (
    <div class="card">
      <p>
        <strong>{formatCount(sum('requests'), 'request')}</strong>{' '}
        <span class="muted">
          {part && `of ${part} `}in {days} days, {badWords(sum('refused'), sum('failed'))}
        </span>{' '}
        {part !== '' && (
          <button type="button" class="link" onClick={() => showOnly({})}>
            Show all
          </button>
        )}
      </p>
      <Bars
        bars={toBars(usage, days)}
        label={`Requests by day, UTC, in the last ${days} days`}
        legend={[
          ['busy', 'Answered'],
          ['warn', 'Refused'],
          ['bad', 'Failed'],
        ]}
      />
    </div>
  );
}

const toGroupName = ({ version, resource, subject }: Usage, by: Grouping): string => {
  if (by === 'subject') return subject ?? 'The key itself';
  if (by === 'version') return version ?? 'No version';
  return version === null
    ? 'No existing version'
    : `${version} ${resource ?? 'description, or an unknown resource'}`;
};

/** A version, or a resource of one, can be shown alone. */
function GroupName({ row, by }: { row: Usage; by: Grouping }) {
  const name = toGroupName(row, by);
  if (by === 'subject' || row.version === null || (by === 'resource' && row.resource === null))
    return <>{name}</>;
  return (
    <button type="button" class="link" title={`Show ${name} alone in the plot`} onClick={() => showOnly(row)}>
      {name}
    </button>
  );
}

const countColumn = (
  title: string,
  name: 'requests' | 'succeeded' | 'notModified' | 'refused' | 'failed',
  minor = false,
) => ({
  title,
  align: 'end' as const,
  minor,
  cell: (row: Usage) => formatNumber(row[name]),
});
const counts = [
  countColumn('Requests', 'requests'),
  countColumn('Succeeded', 'succeeded', true),
  countColumn('Not modified', 'notModified', true),
  countColumn('Refused', 'refused'),
  countColumn('Failed', 'failed'),
];
