// Views: the records of one type that people look at, in the portal and in mails.
import type { Answer, Item } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { ObjectPage, stateColumn, Warnings } from '../../parts/detail.tsx';
import { ExportMenu } from '../../parts/download.tsx';
import {
  ageColumn,
  Facts,
  List,
  linkColumn,
  listQuery,
  searchFilter,
  selectFilter,
  Tabs,
} from '../../parts/list.tsx';
import { Empty, Page, Section } from '../../parts/page.tsx';
import {
  type RecordRow,
  Shown,
  type SummaryRow,
  useViewRecords,
  useViewRows,
} from '../../parts/read-records.tsx';
import { DialogButton } from '../../parts/record-form.tsx';
import { describeSchedule } from '../../parts/schedule.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import '../../styles/portal.css';
import { useGet } from '../../query.ts';
import { base, query, type ScreenProps } from '../../router.ts';
import { may } from '../../session.ts';
import { first100, RemoveButton } from './objects.tsx';
import { pageStates } from './pages.tsx';
import type { SidebarItem } from './sidebar.tsx';
import { operatorWords, type View, ViewForm, visibilityWords } from './view-form.tsx';
import { ViewLinks } from './view-links.tsx';

const syncsLink = <a href={`${base}/syncs`}>See the syncs</a>;

export const Views = () => (
  <Page
    title="Views"
    lead="Records of one type, filtered and sorted, for people, pages and mails."
    actions={
      may('view:create') && (
        <DialogButton label="New view" kind="primary">
          {(close) => <ViewForm close={close} />}
        </DialogButton>
      )
    }
  >
    <List
      label="Views"
      read={useGet('/views', {
        query: listQuery<{ q: string; visibility: View['visibility'] }>('q', 'visibility'),
      })}
      filters={[
        searchFilter('Search views'),
        selectFilter('Who sees it', 'visibility', 'Any visibility', Object.entries(visibilityWords)),
      ]}
      next={<>Create one for a record type that is synced. {syncsLink}</>}
      columns={[
        linkColumn('View', '/views', 'name'),
        { title: 'Record type', cell: ({ recordType }) => <code>{recordType}</code> },
        { title: 'Who sees it', minor: true, cell: ({ visibility }) => visibilityWords[visibility] },
        { title: 'Owner', minor: true, cell: ({ owner }) => owner?.name ?? <span class="muted">Left</span> },
        ageColumn('Changed', 'updatedAt'),
      ]}
    />
  </Page>
);

/** What doesn't work in the view at the moment, how much it is, and how new. */
const ReadState = ({
  problems,
  syncedAt,
  count,
}: Pick<Answer<'/views/{id}/records'>, 'problems' | 'syncedAt'> & { count: string }) => (
  <>
    <Warnings problems={problems} />
    <p class="fine">
      {count}
      {syncedAt !== null && (
        <>
          {' '}
          as of <Time at={syncedAt} />
        </>
      )}
      .
    </p>
  </>
);

function Records({ view }: { view: View }) {
  const { page, pageSize } = listQuery();
  const read = useViewRecords(view.id, [
    ['page', String(page)],
    ['pageSize', String(pageSize)],
  ]);
  const columns = read.data?.columns ?? view.columns.map((source) => ({ source, type: null }));
  return (
    <div class="stack">
      <List
        label="Records"
        read={read}
        rowKey={({ id }) => String(id)}
        empty="No record matches the filters of this view."
        next={<>Edit the view, or see whether its record type is synced. {syncsLink}</>}
        columns={columns.map(({ source, type }) => ({
          title: source,
          cell: (row: RecordRow) => <Shown value={row[source]} type={type ?? undefined} />,
          ...((type === 'number' || type === 'integer') && { align: 'end' as const }),
        }))}
      />
      {read.data !== undefined && (
        <ReadState {...read.data} count={formatCount(read.data.pagination.total, 'record')} />
      )}
    </div>
  );
}

/** Groups and totals as one column each. */
function summaryColumns(summary: NonNullable<View['summary']>) {
  const groups = summary.groups.map(({ field, period }) => (period === null ? field : `${field}.${period}`));
  const totals = summary.aggregates.flatMap(({ field, functions }) =>
    functions.map((fn) => [fn, field] as const),
  );
  const number = (title: string, name: string): Column<SummaryRow> => ({
    title,
    align: 'end',
    cell: (row) => <Shown value={row[name]} type="number" />,
  });
  return [
    ...groups.map(
      (group): Column<SummaryRow> => ({ title: group, cell: (row) => <Shown value={row[group]} /> }),
    ),
    number('Records', 'count'),
    ...totals.map(([fn, field]) => number(`${fn.replace('_', ' ')} of ${field}`, `${fn}.${field}`)),
  ];
}

function Summary({ id, summary }: { id: string; summary: NonNullable<View['summary']> }) {
  const { data, error, reload } = useViewRows(id);
  return (
    <div class="stack">
      <Table
        label="Summary"
        columns={summaryColumns(summary)}
        rows={data?.rows}
        rowKey={(row) => JSON.stringify(row)}
        error={error}
        retry={() => void reload()}
        empty={<Empty title="There is nothing to summarize." />}
      />
      {data !== undefined && (
        <ReadState
          {...data}
          count={`${data.total > data.rows.length ? `The first ${data.rows.length} of ` : ''}${formatCount(data.total, 'group')}`}
        />
      )}
    </div>
  );
}

type Subscription = Item<'/subscriptions'>;

/** Labels of the items that lead to the view, at any depth. */
const listLabels = (items: readonly SidebarItem[], viewId: string): string[] =>
  items.flatMap(({ label, kind, target, children }) => [
    ...(kind === 'view' && target === viewId ? [label] : []),
    ...listLabels(children as readonly SidebarItem[], viewId),
  ]);

/** Where visitors of the portal see the view. */
function PortalUses({ view: { id } }: { view: View }) {
  const pages = useGet('/portal/pages', first100({ viewId: id }));
  const sidebar = useGet('/portal/sidebar');
  const labels = listLabels(sidebar.data?.items ?? [], id);
  return (
    <Section title="In the portal">
      <Table
        label="Pages with the view"
        rows={pages.data?.data}
        error={pages.error}
        retry={() => void pages.reload()}
        empty={<p class="muted">No page shows this view.</p>}
        columns={[linkColumn('Page', '/pages', 'title'), stateColumn(pageStates)]}
      />
      <p class="muted">
        {sidebar.data !== undefined &&
          (labels.length === 0
            ? 'No item of the sidebar leads to it.'
            : `In the sidebar: ${labels.join(', ')}.`)}
      </p>
    </Section>
  );
}

/** The subscriptions that send the view. */
const Mails = ({
  view: { id },
  subscriptions,
}: {
  view: View;
  subscriptions: readonly Subscription[] | undefined;
}) => (
  <Section
    title="Subscriptions"
    actions={
      may('subscription:create') && (
        <a class="button" href={`${base}/subscriptions?viewId=${id}&new=1`}>
          New subscription
        </a>
      )
    }
  >
    <Table
      label="Subscriptions of the view"
      rows={subscriptions}
      empty={<p class="muted">No subscription sends this view by mail.</p>}
      columns={[
        {
          title: 'Schedule',
          cell: (one) => (
            <a href={`${base}/subscriptions/${one.id}`}>{describeSchedule(one.schedule, one.timezone)}</a>
          ),
        },
        {
          title: 'Recipients',
          cell: ({ recipients }) => recipients.filter(({ status }) => status === 'active').length,
        },
        { title: 'Enabled', cell: ({ enabled }) => (enabled ? 'Yes' : 'No') },
      ]}
    />
  </Section>
);

function Definition({
  view: { columns, filters, recordType, sort, visibility, owner, updatedAt },
}: {
  view: View;
}) {
  const conditions = filters.map(
    ({ field, operator, value }) => `${field} ${operatorWords[operator]} ${[value].flat().join(' or ')}`,
  );
  return (
    <Section title="Definition">
      <Facts
        facts={[
          ['Record type', <code>{recordType}</code>],
          ['Columns', columns.join(', ')],
          ['Filters', conditions.join('; ') || 'None: every record'],
          ['Order', sort.map(({ field, direction }) => `${field}, ${direction}ending`).join('; ')],
          ['Who sees it', visibilityWords[visibility]],
          ['Owner', owner?.email ?? 'Left the organization'],
          ['Changed', <Time at={updatedAt} />],
        ]}
      />
    </Section>
  );
}

const ViewActions = ({ view, mails }: { view: View; mails: number }) => (
  <>
    <ExportMenu path={`/views/${view.id}/records`} fileName={view.name} />
    {may('view:update') && (
      <DialogButton label="Edit">{(close) => <ViewForm view={view} close={close} />}</DialogButton>
    )}
    {may('view:delete') && (
      <RemoveButton what="view" name={`the view ${view.name}`} list="/views" id={view.id}>
        {formatCount(mails, 'subscription')} that you can see will be disabled. Pages and sidebar items that
        show it will report a problem. The records stay.
      </RemoveButton>
    )}
  </>
);

function ViewContent({
  view,
  subscriptions,
}: {
  view: View;
  subscriptions: readonly Subscription[] | undefined;
}) {
  const show = query.value.get('show') ?? '';
  return (
    <>
      <Tabs
        label="View"
        tabs={[
          ['', 'Records'],
          ...(view.summary === null ? [] : [['summary', 'Summary'] as const]),
          ['use', 'Definition and use'],
        ]}
      />
      {show === '' && <Records view={view} />}
      {show === 'summary' && view.summary !== null && <Summary id={view.id} summary={view.summary} />}
      {show === 'use' && (
        <>
          <Definition view={view} />
          <ViewLinks view={view} />
          {may('subscription:read') && <Mails view={view} subscriptions={subscriptions} />}
          {may('portal:read') && <PortalUses view={view} />}
        </>
      )}
    </>
  );
}

export function ViewScreen({ params: { id = '' } }: ScreenProps) {
  const read = useGet('/views/{id}', { path: { id } });
  const used = useGet(may('subscription:read') ? '/subscriptions' : null, first100({ viewId: id }));
  const subscriptions = used.data?.data;
  const show = (view: View) => ({
    title: view.name,
    actions: <ViewActions view={view} mails={subscriptions?.length ?? 0} />,
    children: <ViewContent view={view} subscriptions={subscriptions} />,
  });
  return <ObjectPage read={read} kind="View" list="/views" show={show} />;
}
