// Who changed what, and when. Filters and page are in the address; the CSV file has all entries that the
// filters select.
import { ExportButton } from '../../parts/download.tsx';
import '../../styles/people.css';
import { dayFilter, Facts, List, listQuery, searchFilter, selectFilter } from '../../parts/list.tsx';
import { Page } from '../../parts/page.tsx';
import { Time } from '../../parts/time.tsx';
import { useGet } from '../../query.ts';
import { base } from '../../router.ts';
import { may, organizationId } from '../../session.ts';
import {
  type AuditEntry,
  areas,
  describeChanges,
  describeCredential,
  findTargetScreen,
} from './audit-words.ts';
import { membersPath } from './members.tsx';

const filterNames = ['q', 'area', 'actorId', 'targetId', 'from', 'to'] as const;
const isArea = (area: string | undefined): area is keyof typeof areas =>
  area !== undefined && Object.hasOwn(areas, area);

/** Days of the address, which begin and end in the viewer's zone, as instants. */
function readFilters() {
  const { from, to, area, ...rest } = listQuery<Readonly<Record<(typeof filterNames)[number], string>>>(
    ...filterNames,
  );
  const day = (text: string | undefined, plusDays: number): string | undefined => {
    const at = new Date(`${text}T00:00:00`);
    at.setDate(at.getDate() + plusDays);
    return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
  };
  const [after, before] = [day(from, 0), day(to, 1)];
  return {
    ...rest,
    ...(isArea(area) && { area }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
  };
}

/** The members to choose from; up to a hundred. */
function useMembers(): readonly (readonly [id: string, name: string])[] {
  const params = { path: { id: organizationId() }, query: { pageSize: 100 } };
  const { data } = useGet(may('member:read') ? membersPath : null, params);
  return data?.data.map(({ user }) => [user.id, user.name] as const) ?? [];
}

function Entry({ entry }: { entry: AuditEntry }) {
  const { summary, credential, ip, action, target, requestId } = entry;
  const screen = findTargetScreen(entry);
  const codes = { Action: action, Target: target.id && `${target.type} ${target.id}`, Request: requestId };
  return (
    <details class="entry">
      <summary>{summary}</summary>
      <Facts
        facts={[
          ...describeChanges(entry),
          ['Done', `${describeCredential(credential.kind)}${ip === null ? '' : ` from ${ip}`}`],
          ...Object.entries(codes).map(
            ([name, code]) => [name, code && <code key={name}>{code}</code>] as const,
          ),
        ]}
      />
      <p class="row">
        {screen !== undefined && <a href={`${base}${screen}`}>Open</a>}
        {target.id !== null && (
          <a href={`${base}/audit-log?targetId=${encodeURIComponent(target.id)}`}>All entries about this</a>
        )}
      </p>
    </details>
  );
}

/** The name leads to all entries of that person, who may be no member any more. */
function showActor({ actor, credential }: AuditEntry) {
  if (actor.id === null) return credential.kind === 'operator' ? 'The operator' : 'The service';
  return (
    <a href={`${base}/audit-log?actorId=${actor.id}`} title={actor.email ?? undefined}>
      {actor.name ?? actor.email}
    </a>
  );
}

export function AuditLog() {
  const { page, pageSize, ...filters } = readFilters();
  const path = { id: organizationId() };
  const read = useGet('/organizations/{id}/audit-log', { path, query: { page, pageSize, ...filters } });
  return (
    <Page
      title="Audit log"
      lead="Every change. Entries are never changed or deleted."
      actions={
        <ExportButton path={`/organizations/${path.id}/audit-log`} query={filters} fileName="audit-log" />
      }
    >
      <List
        label="Entries"
        read={read}
        filterNames={filterNames}
        filters={[
          searchFilter('Search the last 90 days, or the chosen ones'),
          selectFilter('Person', 'actorId', 'Everyone', useMembers()),
          selectFilter('Area', 'area', 'All areas', Object.entries(areas)),
          dayFilter('From', 'from'),
          dayFilter('To', 'to'),
        ]}
        columns={[
          { title: 'When', cell: ({ at }) => <Time at={at} /> },
          { title: 'What', cell: (entry) => <Entry entry={entry} /> },
          { title: 'Who', minor: true, cell: showActor },
          { title: 'Area', minor: true, cell: ({ area }) => area && areas[area] },
        ]}
      />
    </Page>
  );
}
