// Where to browse: the resources of every version that has records.
import type { Item } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { WordBadge } from '../../parts/detail.tsx';
import { Empty, Page, Section } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { versionStates } from '../../states.ts';
import { Reference } from './record-tools.tsx';

type Version = Item<'/api-schema'>;
type Sync = Item<'/sync-configs'>;

export function DataVersions() {
  const versions = useGet('/api-schema', { query: { pageSize: 100 } });
  const syncs = useGet(may('sync:read') ? '/sync-configs' : null, { query: { pageSize: 100 } });
  const shown = versions.data?.data.filter(({ status }) => status === 'published' || status === 'deprecated');
  return (
    <Page title="Data" lead="The records that your API versions serve, as a caller sees them.">
      {shown === undefined && <Problem error={versions.error} retry={() => void versions.reload()} />}
      {shown?.length === 0 && (
        <Empty title="There are no published versions yet.">
          <a class="button primary" href={`${base}/schemas`}>
            Go to API versions
          </a>
        </Empty>
      )}
      {shown?.map((version) => (
        <Resources key={version.id} version={version} syncs={syncs.data?.data ?? []} />
      ))}
    </Page>
  );
}

function Resources({
  version: { version, name: title, status, endpoints },
  syncs,
}: {
  version: Version;
  syncs: readonly Sync[];
}) {
  const findSync = (recordType: string): Sync | undefined =>
    syncs.find((sync) => sync.recordType === recordType);
  return (
    <Section
      title={[version, title].filter((part) => part !== '').join(' · ')}
      actions={<WordBadge state={versionStates[status]} />}
    >
      <Table
        label={`Resources of ${version}`}
        rows={endpoints}
        rowKey={({ name }) => name}
        columns={[
          {
            title: 'Resource',
            cell: ({ name, description }) => (
              <>
                <a href={`${base}/data/${version}/${name}`}>{name}</a>
                <span class="fine">{description}</span>
              </>
            ),
          },
          { title: 'Record type', cell: ({ recordType }) => <code>{recordType}</code>, minor: true },
          { title: 'Fields', align: 'end', minor: true, cell: ({ fields }) => formatNumber(fields.length) },
          {
            title: 'Records',
            align: 'end',
            cell: ({ recordType }) => {
              const records = findSync(recordType)?.records;
              return records === undefined ? <span class="muted">–</span> : formatNumber(records);
            },
          },
          {
            title: 'Synced',
            cell: ({ recordType }) => <Time at={findSync(recordType)?.syncedAt ?? null} relative none="–" />,
          },
        ]}
        empty={<Empty title={`${version} has no resources.`} />}
      />
      <p class="fine data-note">
        <Reference version={version} />
      </p>
    </Section>
  );
}
