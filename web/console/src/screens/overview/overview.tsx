// The first screen: what needs attention, worst first, then the state of everything in numbers. An
// organization that has nothing yet sees the steps of its set-up instead. One request, repeated while the
// page is visible.
import { useEffect } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { Unread } from '../../parts/detail.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useGet } from '../../query.ts';
import { noteOpenRuns } from '../../service-state.ts';
import '../../styles/overview.css';
import { SetUp } from '../../parts/set-up.tsx';
import { hasStarted, listSteps } from '../../parts/set-up-steps.ts';
import type { OverviewData } from './data.ts';
import { Numbers } from './numbers.tsx';
import { Problems } from './problems.tsx';
import { Syncs } from './syncs.tsx';
import { Usage } from './usage.tsx';
import { Versions } from './versions.tsx';

const everyMs = 15_000;

/** The state of everything in a sentence. */
function describe({ problemCounts: { errors, warnings }, syncs }: OverviewData): string {
  const parts = [
    errors > 0 && formatCount(errors, 'error'),
    warnings > 0 && formatCount(warnings, 'warning'),
  ].filter(Boolean);
  if (parts.length > 0) return `${parts.join(' and ')}, the worst first.`;
  if (syncs !== null && syncs.counts.running + syncs.counts.new > 0)
    return 'Nothing needs your attention. Some syncs have yet to finish.';
  return 'Nothing needs your attention.';
}

const seesNothing = ({ connection, syncs, versions, keys, payments }: OverviewData): boolean =>
  [connection, syncs, versions, keys, payments].every((part) => part === null);

const NothingToSee = () => (
  <Empty title="Your role shows nothing on this page.">
    <p>Ask an administrator of the organization for more permissions.</p>
  </Empty>
);

function Content({ data }: { data: OverviewData }) {
  const steps = listSteps(data);
  const started = hasStarted(data);
  return (
    <>
      <Problems problems={data.problems} />
      <SetUp steps={steps} started={started} />
      {started && <Numbers data={data} />}
      {started && data.syncs !== null && <Syncs syncs={data.syncs} />}
      {started && (
        <div class="overview-pair">
          {data.versions !== null && <Versions versions={data.versions} />}
          {data.keys !== null && <Usage keys={data.keys} />}
        </div>
      )}
      {seesNothing(data) && <NothingToSee />}
    </>
  );
}

export function Overview() {
  const read = useGet('/overview', {}, { everyMs });
  const { data, error, reload } = read;
  useEffect(() => {
    if (data?.syncs) noteOpenRuns(data.syncs.counts.running);
  }, [data]);
  if (data === undefined) return <Unread title="Overview" read={read} above={[]} />;
  const lead = hasStarted(data) ? describe(data) : 'From your ERP to an API of your own in a few steps.';
  return (
    <Page title="Overview" lead={seesNothing(data) ? undefined : <span class="verdict">{lead}</span>}>
      <div class="stack">
        <Problem error={error} retry={() => void reload()} />
        <Content data={data} />
      </div>
    </Page>
  );
}
