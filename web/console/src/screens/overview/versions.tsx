// The versions of the API and who calls them.
import { formatCompact, formatDay } from '../../format.ts';
import { WordBadge } from '../../parts/detail.tsx';
import { Section } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { versionState } from '../../states.ts';
import type { OverviewData } from './data.ts';

type Version = NonNullable<OverviewData['versions']>[number];

const maxShown = 6;

function State({ version: { status, publication, sunsetAt } }: { version: Version }) {
  return (
    <>
      <WordBadge state={versionState(status, publication ?? undefined)} />
      {sunsetAt !== null && <span class="fine"> ends {formatDay(sunsetAt)}</span>}
    </>
  );
}

const number = (value: number | null): string => (value === null ? '' : formatCompact(value));

const createColumns = (): readonly Column<Version>[] => [
  {
    title: 'Version',
    cell: ({ id, version, name }) => (
      <>
        <a href={`${base}/schemas/${id}`}>{version}</a>
        {name !== '' && <span class="fine"> {name}</span>}
      </>
    ),
  },
  { title: 'State', cell: (version) => <State version={version} /> },
  ...(may('api-key:read')
    ? ([
        { title: 'Callers', align: 'end', cell: ({ callers7Days }) => number(callers7Days) },
        { title: 'Answered', align: 'end', cell: ({ requests7Days }) => number(requests7Days) },
      ] satisfies Column<Version>[])
    : []),
];

export const Versions = ({ versions }: { versions: readonly Version[] }) => (
  <Section title="API versions" actions={<a href={`${base}/schemas`}>All versions</a>}>
    <Table
      label="List of API versions"
      columns={createColumns()}
      rows={versions.slice(0, maxShown)}
      rowKey={({ id }) => id}
      empty={
        <p class="muted">
          Nothing is published. <a href={`${base}/schemas`}>Create the first version</a>
        </p>
      }
    />
    {may('api-key:read') && versions.length > 0 && (
      <p class="fine">Callers, and the requests answered, in the last 7 days.</p>
    )}
  </Section>
);
