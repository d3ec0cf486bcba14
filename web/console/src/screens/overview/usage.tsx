// Requests of the last 30 days as a plot.
import { formatCount, formatDay } from '../../format.ts';
import { Section } from '../../parts/page.tsx';
import { Bars } from '../../parts/plot.tsx';
import { base } from '../../router.ts';
import type { OverviewData } from './data.ts';

type Keys = NonNullable<OverviewData['keys']>;

const toBar = ({ day, requests, unanswered }: Keys['days'][number]) => {
  const title = `${formatDay(`${day}T12:00`)}: ${formatCount(requests, 'request')}${unanswered === 0 ? '' : `, ${formatCount(unanswered, 'refused or failed', 'refused or failed')}`}`;
  const parts = [
    { value: requests - unanswered, tone: 'busy' as const },
    { value: unanswered, tone: 'warn' as const },
  ];
  return { key: day, parts, title };
};

export function Usage({ keys: { days, active } }: { keys: Keys }) {
  const total = days.reduce((sum, { requests }) => sum + requests, 0);
  return (
    <Section title="Requests" actions={<a href={`${base}/keys`}>API keys</a>}>
      {total === 0 ? (
        <p class="muted">
          {active === 0
            ? 'There is no active API key.'
            : `No request in the last 30 days with ${formatCount(active, 'active key')}.`}
        </p>
      ) : (
        <div class="card">
          <Bars
            label={`Requests by day, ${formatCount(total, 'request')} in ${days.length} days`}
            bars={days.map(toBar)}
            legend={[
              ['busy', 'Answered'],
              ['warn', 'Refused or failed'],
            ]}
          />
        </div>
      )}
      <p class="fine">Days are in UTC. Requests appear here within half a minute.</p>
    </Section>
  );
}
