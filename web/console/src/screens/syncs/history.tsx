// The runs of 30 days as a plot: duration or records, coloured by how each run ended.
import type { Answer } from '../../api.ts';
import { formatCount, formatDay, formatDuration, formatNumber, formatTime } from '../../format.ts';
import { SelectFilter } from '../../parts/list.tsx';
import { Section } from '../../parts/page.tsx';
import { Bars } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useGet } from '../../query.ts';
import { base, query } from '../../router.ts';
import { runStates } from '../../states.ts';
import { describeAll } from './words.ts';

const days = 30;

type RunHistory = Answer<'/sync-configs/{id}/history'>;
type Point = RunHistory['points'][number];
type Measure = readonly [title: string, value: (point: Point) => number];

const duration: Measure = ['Duration', ({ durationMs }) => durationMs ?? 0];
const others: Readonly<Record<string, Measure>> = {
  records: ['Records read', ({ recordsRead }) => recordsRead],
  changes: ['Records changed', ({ recordsChanged, recordsDeleted }) => recordsChanged + recordsDeleted],
};
const options = Object.entries(others).map(([name, [title]]) => [name, title] as const);

/** What a bar says on hover. */
const describePoint = ({
  startedAt,
  runs,
  status,
  durationMs,
  recordsRead,
  recordsChanged,
  recordsDeleted,
}: Point): string =>
  [
    formatTime(startedAt),
    ...(runs === 1 ? [] : [formatCount(runs, 'run')]),
    runStates[status][1],
    ...(durationMs === null ? [] : [formatDuration(durationMs)]),
    `${formatNumber(recordsRead)} read`,
    ...describeAll([
      [recordsChanged, 'changed'],
      [recordsDeleted, 'deleted'],
    ]),
  ].join(' · ');

/** How many runs ended how. */
function describeEnds({ points }: RunHistory): string {
  const names = ['succeeded', 'partial', 'failed', 'cancelled', 'open'] as const;
  return describeAll(
    names.map((name) => [points.reduce((sum, { counts }) => sum + counts[name], 0), name]),
  ).join(', ');
}

/** What the colours of these runs mean. */
const listMeanings = (points: readonly Point[]) =>
  Object.entries(runStates).flatMap(([name, state]) =>
    points.some(({ status }) => status === name) ? [state] : [],
  );

export function History({ syncId }: { syncId: string }) {
  const { data, error, reload } = useGet('/sync-configs/{id}/history', {
    path: { id: syncId },
    query: { days },
  });
  if (data?.points.length === 0) return null;
  const [title, measure] = others[query.value.get('plot') ?? ''] ?? duration;
  return (
    <Section
      title="History"
      actions={<SelectFilter label="What is plotted" name="plot" any={duration[0]} options={options} />}
    >
      <Problem error={error} retry={() => void reload()} />
      {data !== undefined && (
        <div class="card stack">
          <p class="muted">
            {formatCount(data.runs, 'run')} in {days} days: {describeEnds(data)}.
          </p>
          <Bars
            label={`${title} of the runs of the last ${days} days`}
            bars={data.points.map((point) => ({
              key: point.runId,
              mark: formatDay(point.startedAt),
              href: `${base}/runs/${point.runId}`,
              parts: [{ value: measure(point), tone: runStates[point.status][0] }],
              title: describePoint(point),
            }))}
            format={title === duration[0] ? formatDuration : formatNumber}
            legend={listMeanings(data.points)}
          />
        </div>
      )}
    </Section>
  );
}
