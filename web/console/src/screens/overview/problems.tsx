// What is wrong, the worst first: each with what to do about it and the way there.
import { useState } from 'preact/hooks';
import { formatNumber } from '../../format.ts';
import { TextWithTimes, Time } from '../../parts/time.tsx';
import { base } from '../../router.ts';
import type { OverviewData } from './data.ts';

type Found = OverviewData['problems'][number];
type Target = Found['target'];

/** More are shown at the press of a button. */
const maxShown = 8;

/** Where a target is listed, what leads to one, and what to the list where several are concerned. */
const targets: Readonly<Record<Target['type'], readonly [list: string, one: string, several?: string]>> = {
  connection: ['/connection', 'Open the connections'],
  sync: ['/syncs', 'Open the sync', 'Show the syncs'],
  run: ['/syncs', 'See the run', 'Show the syncs'],
  'deletion-proposal': ['/syncs', 'Review the deletions'],
  version: ['/schemas', 'Open the version'],
  key: ['/keys', 'Open the key', 'Show the keys'],
  payment: ['/payments', 'Open the payment', 'Show the payments'],
  domain: ['/domains', 'Open the domains'],
  webhook: ['/webhooks', 'Open the webhook'],
};
const stateFilters: Partial<Record<Found['kind'], string>> = {
  sync_failing: '?state=failed',
  sync_paused: '?state=paused',
};

function toLink({ kind, target: { type, id, syncConfigId } }: Found): string {
  const [list] = targets[type];
  if (type === 'connection' || type === 'domain') return list;
  if (id === null) return list + (stateFilters[kind] ?? '');
  if (type === 'run') return `/runs/${id}`;
  return type === 'deletion-proposal' ? `/syncs/${syncConfigId}/deletions/${id}` : `${list}/${id}`;
}

const Mark = ({ severity }: Pick<Found, 'severity'>) => (
  <svg
    class={`severity ${severity}`}
    viewBox="0 0 16 16"
    role="img"
    aria-label={severity === 'error' ? 'Error' : 'Warning'}
  >
    {severity === 'error' ? <circle cx="8" cy="8" r="7.5" /> : <path d="M8 .8 15.8 15H.2z" />}
    <path class="sign" d="M8 5v4.2M8 11.4v1.2" />
  </svg>
);

function ProblemRow({ problem }: { problem: Found }) {
  const { severity, title, since, detail, action, target } = problem;
  const [, one, several = one] = targets[target.type];
  const label = target.id === null ? several : one;
  return (
    <li>
      <Mark severity={severity} />
      <div>
        <p>
          <strong>{title}</strong>
        </p>
        <p class="muted action" title={action}>
          {since !== null && (
            <>
              The last success was <Time at={since} relative />.{' '}
            </>
          )}
          {action}
        </p>
        {detail !== null && (
          <details class="fine">
            <summary>What was reported</summary>
            <p>
              <TextWithTimes text={detail} />
            </p>
          </details>
        )}
      </div>
      <a class="button" href={base + toLink(problem)} aria-label={`${label}: ${title}`}>
        {label}
      </a>
    </li>
  );
}

/** Nothing when there are none. */
export function Problems({ problems }: { problems: readonly Found[] }) {
  const [showsAll, setShowsAll] = useState(false);
  if (problems.length === 0) return null;
  const shown = showsAll ? problems : problems.slice(0, maxShown);
  return (
    <section aria-label="Problems">
      <ul class="problems">
        {shown.map((problem) => (
          <ProblemRow key={`${problem.kind} ${problem.target.id ?? ''} ${problem.title}`} problem={problem} />
        ))}
      </ul>
      {problems.length > maxShown && (
        <p class="problems-more">
          <button type="button" class="link" aria-expanded={showsAll} onClick={() => setShowsAll(!showsAll)}>
            {showsAll ? 'Show fewer' : `Show all ${formatNumber(problems.length)}`}
          </button>
        </p>
      )}
    </section>
  );
}
