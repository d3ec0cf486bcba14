// How many of the measured reads are slow, and the slowest of them as bars.
import type { Answer } from '../../api.ts';
import { formatCount, formatNumber } from '../../format.ts';
import { type Column, Table } from '../../parts/table.tsx';

type Pair = Answer<'/api-schema/{id}/publication'>['pairs'][number];

const slowMs = 500;
const [maxBars, maxPairs] = [8, 20];

export const formatMs = (ms: number): string =>
  `${ms < 10 ? ms.toFixed(1) : formatNumber(Math.round(ms))} ms`;

const largest = (numbers: readonly number[]): number => Math.max(0, ...numbers);
const slowestMs = ({ trials }: Pair): number => largest(trials.map(({ ms }) => ms));

/** `invoices filtered by status, sorted by total, descending`. */
function describeRead({ resource, filter, scope, group, sort, order }: Pair): string {
  if (group !== undefined) return `${resource} summarized by ${group}`;
  const parts = [
    [resource, filter && `filtered by ${filter}`, scope && `in the row scope ${scope}`]
      .filter(Boolean)
      .join(' '),
    sort && `sorted by ${sort}`,
    // A set of sorts has its directions in its name.
    !sort?.includes(',') && order === 'desc' && 'descending',
  ];
  return parts.filter(Boolean).join(', ');
}

const columns: readonly Column<Pair>[] = [
  { title: 'Read', cell: describeRead },
  { title: 'Slowest', cell: (pair) => formatMs(slowestMs(pair)), align: 'end' },
  {
    title: 'Records',
    cell: ({ trials }) => formatNumber(largest(trials.map(({ rows }) => rows))),
    align: 'end',
    minor: true,
  },
  {
    title: 'By index',
    cell: ({ trials }) => (trials.every(({ byIndex }) => byIndex) ? 'yes' : 'no'),
    minor: true,
  },
];

function Bar({ pair, longestMs }: { pair: Pair; longestMs: number }) {
  const ms = slowestMs(pair);
  return (
    <li>
      <span>{describeRead(pair)}</span>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
        <rect
          class={`bar ${ms > slowMs ? 'warn' : 'good'}`}
          width={Math.max(1, (ms / longestMs) * 100)}
          height="6"
        />
      </svg>
      <strong>{formatMs(ms)}</strong>
    </li>
  );
}

/** `pairs`: slowest first. */
export function SlowReads({ pairs }: { pairs: readonly Pair[] }) {
  const [first] = pairs;
  if (first === undefined) return null;
  const slow = pairs.filter((pair) => slowestMs(pair) > slowMs).length;
  // One that would be left out alone is shown.
  const shown = pairs.slice(0, pairs.length === maxBars + 1 ? pairs.length : maxBars);
  const next = pairs[shown.length];
  const toKey = (pair: Pair): string => `${describeRead(pair)} ${pair.order}`;
  return (
    <>
      <p class={slow > 0 ? 'note warn' : 'note good'}>
        {slow > 0
          ? `${formatNumber(slow)} of ${formatCount(pairs.length, 'read')} ${slow === 1 ? 'takes' : 'take'} over ${slowMs} ms.`
          : `None of ${formatCount(pairs.length, 'read')} takes over ${slowMs} ms.`}
      </p>
      <ol class="slow-reads" aria-label="The slowest reads">
        {shown.map((pair) => (
          <Bar key={toKey(pair)} pair={pair} longestMs={slowestMs(first)} />
        ))}
      </ol>
      {next !== undefined && (
        <p class="fine">
          {formatCount(pairs.length - shown.length, 'more read')} took {formatMs(slowestMs(next))} or less.
        </p>
      )}
      <details>
        <summary>
          {pairs.length > maxPairs ? `The slowest ${maxPairs} reads in numbers` : 'All reads in numbers'}
        </summary>
        <Table label="Slowest reads" columns={columns} rows={pairs.slice(0, maxPairs)} rowKey={toKey} />
      </details>
    </>
  );
}
