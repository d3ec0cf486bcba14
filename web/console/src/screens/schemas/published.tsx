// A version to read: one that was published, which never changes, or a draft for those who may not change it.
// What it has, who calls it, and how it ends.

import { formatCount } from '../../format.ts';
import { Pending, StateBadge } from '../../parts/detail.tsx';
import { Tabs } from '../../parts/list.tsx';
import { Page, Section } from '../../parts/page.tsx';
import { ActionButton } from '../../parts/record-form.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base, query } from '../../router.ts';
import { may } from '../../session.ts';
import { versionStates } from '../../states.ts';
import { Callers } from './callers.tsx';
import { Changes } from './changes.tsx';
import { type Endpoint, type FlatField, flatFields, listOperators } from './document.ts';
import { Endings } from './lifecycle.tsx';
import { aboveVersion, copyVersion, formatTitle } from './new-draft.tsx';
import { listUses } from './row-cells.tsx';
import type { Version } from './use-draft.ts';

export const toReferencePath = ({ version }: Pick<Version, 'version'>): string =>
  `/api/public/openapi/${version}/preview`;
const isLive = ({ status }: Version): boolean => status === 'published' || status === 'deprecated';

export function Published({ version }: { version: Version }) {
  const isDraft = version.status === 'draft';
  return (
    <Page
      title={formatTitle(version)}
      above={[aboveVersion]}
      lead={<Lead version={version} />}
      actions={
        <>
          {isLive(version) && (
            <a class="button" href={toReferencePath(version)}>
              Reference
            </a>
          )}
          {!isDraft && <Endings version={version} />}
          {may('api-schema:create') && (
            <ActionButton label="New version" kind="primary" run={() => copyVersion(version.id)} />
          )}
        </>
      }
    >
      <Tabs
        label={`Parts of ${version.version}`}
        tabs={[
          ['', 'Fields'],
          ...(!isDraft && may('api-key:read') ? [['callers', 'Callers'] as const] : []),
          ['changes', 'Changes'],
        ]}
      />
      <Shown version={version} />
    </Page>
  );
}

function Shown({ version }: { version: Version }) {
  const shown = query.value.get('show');
  if (shown === 'callers') return <Callers id={version.id} />;
  if (shown === 'changes') return <ChangesOf id={version.id} />;
  return (
    <>
      {version.endpoints.map((endpoint) => (
        <Resource key={endpoint.name} version={version} endpoint={endpoint} />
      ))}
    </>
  );
}

const Lead = ({
  version: { id, status, notes, publishedAt, deprecatedAt, sunsetAt },
}: {
  version: Version;
}) => (
  <>
    <StateBadge states={versionStates} state={status} />{' '}
    {publishedAt !== null && (
      <>
        Published <Time at={publishedAt} />: <a href={`${base}/schemas/${id}/publish`}>what was proved</a>
        {may('audit:read') && (
          <>
            , <a href={`${base}/audit-log?targetId=${id}`}>who did what</a>
          </>
        )}
        .{' '}
      </>
    )}
    {deprecatedAt !== null && (
      <>
        Deprecated <Time at={deprecatedAt} />,{' '}
        {sunsetAt === null ? 'without a sunset date' : 'with the sunset on '}
        <Time at={sunsetAt} />.{' '}
      </>
    )}
    {leads[status]} {notes}
  </>
);

const leads: Readonly<Record<string, string>> = {
  deprecated: 'It keeps working until it is retired.',
  retired: 'Retired: reads are answered with 410 Gone.',
  draft: 'To change it, you need the permission api-schema:update.',
};

const createColumns = (endpoint: Endpoint): readonly Column<FlatField>[] => [
  { title: 'Name', cell: ({ path }) => <code>{path}</code> },
  { title: 'Source', cell: ({ field }) => <code class="muted">{field.source}</code> },
  { title: 'Filters', cell: ({ path }) => listOperators(endpoint, path).join(', ') || '–' },
  { title: 'Also', cell: (row) => listUses(endpoint, row).join(', ') || '–', minor: true },
  { title: 'Description', cell: ({ field }) => field.description || '–', minor: true },
];

const Resource = ({ version, endpoint }: { version: Version; endpoint: Endpoint }) => {
  const {
    name,
    description,
    fields,
    recordType,
    relations = [],
    sortSets = [],
    defaultSort,
    maxPageSize,
  } = endpoint;
  const about = [
    description,
    `${formatCount(fields.length, 'field')} of ${recordType}`,
    defaultSort && `sorted by ${defaultSort.field}${defaultSort.order === 'desc' ? ', descending' : ''}`,
    sortSets.length > 0 && `sorts by ${sortSets.map((keys) => keys.join(',')).join(' and ')}`,
    relations.length > 0 &&
      `expands ${relations.map((relation) => `${relation.name} (${relation.field} → ${relation.resource})`).join(', ')}`,
    endpoint.or && 'filters combine by or',
    endpoint.document && 'records are also PDF documents',
    `at most ${formatCount(maxPageSize, 'record')} per page`,
  ];
  return (
    <Section
      title={name}
      actions={
        isLive(version) &&
        may('record:read') && <a href={`${base}/data/${version.version}/${name}`}>Browse records</a>
      }
    >
      <p class="lead">{about.filter(Boolean).join(' · ')}</p>
      <Table
        label={`Fields of ${name}`}
        columns={createColumns(endpoint)}
        rows={flatFields(endpoint)}
        rowKey={({ path }) => path}
      />
    </Section>
  );
};

/** The first version has nothing before it: the service says so by `no_version`. */
function ChangesOf({ id }: { id: string }) {
  const { data, error, reload } = useGet('/api-schema/{id}/diff', { path: { id } });
  if (error?.details.some(({ code }) => code === 'no_version'))
    return <Changes changes={[]} against={null} />;
  return data === undefined ? <Pending error={error} reload={reload} /> : <Changes {...data} />;
}
