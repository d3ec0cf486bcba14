// The records of one resource of a version: searched, filtered, sorted and paged as its callers may, with the
// same values.
import { useRef } from 'preact/hooks';
import { Unread } from '../../parts/detail.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { type Column, Pager, Table } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { type Read, useGet } from '../../query.ts';
import { base } from '../../router.ts';
import type { ScreenProps } from '../../screens.ts';
import '../../styles/data.css';
import { addressWith, misunderstood, readAddress, type State, show, toParameters } from './address.ts';
import { defaultColumns, type Endpoint, type Types } from './endpoint.ts';
import { FilterBar } from './filter-bar.tsx';
import { type RecordPage, type RecordRow, Shown, useRecords } from './read-records.tsx';
import { RecordPanel } from './record-panel.tsx';
import { RecordPlot } from './record-plot.tsx';
import { RecordTools } from './record-tools.tsx';
import { Totals } from './totals.tsx';

const above = [{ to: `${base}/data`, title: 'Data' }];

export function Records({ params: { version: label = '', resource = '' } }: ScreenProps) {
  const read = useGet('/api-schema', { query: { pageSize: 100 } });
  const title = `${resource} in ${label}`;
  if (read.data === undefined) return <Unread read={read} title={title} above={above} />;
  const version = read.data.data.find((one) => one.version === label);
  const endpoint = version?.endpoints.find(({ name }) => name === resource);
  const unknown = endpoint === undefined ? '' : misunderstood(endpoint).join(' and ');
  if (version !== undefined && endpoint !== undefined && unknown === '')
    return <Browser title={title} id={version.id} version={label} endpoint={endpoint} />;
  return (
    <Page title={title} above={above}>
      <Empty
        title={
          version === undefined
            ? `There is no version ${label}.`
            : endpoint === undefined
              ? `${label} has no resource ${resource}.`
              : `This list does not understand ${unknown} in its address, so it shows nothing.`
        }
      >
        <a href={`${base}/data`}>Choose a version and a resource</a>
      </Empty>
    </Page>
  );
}

const defaultPageSize = 25;

/** The last page that was read stays until the next one is there. */
function useLatest<T>(read: Read<T>): T | undefined {
  const latest = useRef<T | undefined>(undefined);
  if (read.data !== undefined) latest.current = read.data;
  return read.error === undefined || read.data !== undefined ? latest.current : undefined;
}

function Browser({
  title,
  id,
  version,
  endpoint,
}: {
  title: string;
  id: string;
  version: string;
  endpoint: Endpoint;
}) {
  const state = readAddress(endpoint);
  const place = { id, resource: endpoint.name };
  const pageSize = Math.min(defaultPageSize, endpoint.maxPageSize ?? defaultPageSize);
  const read = useRecords(place, [
    ...toParameters(state),
    ['page', String(state.page)],
    ['pageSize', String(pageSize)],
  ]);
  const page = useLatest(read);
  const fields = page?.fields ?? [];
  const columns = state.columns ?? defaultColumns(endpoint);
  const types = new Map(fields.map(({ name, type }) => [name, type]));
  const masked = new Set(fields.filter((field) => field.masked).map(({ name }) => name));
  const common = { version, endpoint, state, columns, types, masked, place };
  return (
    <div class="wide">
      <Page
        title={title}
        above={above}
        lead={<Lead endpoint={endpoint} page={page} />}
        actions={<RecordTools {...common} page={page} />}
      >
        <StaleNote fields={page?.staleFields ?? []} />
        <FilterBar {...common} />
        {page !== undefined && <Totals {...common} page={page} />}
        {page !== undefined && state.plot !== null && <RecordPlot {...common} page={page} />}
        {page === undefined && read.error !== undefined ? (
          <Problem error={read.error} retry={() => void read.reload()} />
        ) : (
          <div class={state.record === null ? '' : 'data-split'}>
            <div class="data-records">
              <RecordTable {...common} page={page} />
              <Pager pagination={page?.pagination} onPage={(next) => show({ page: String(next) })} />
            </div>
            {state.record !== null && (
              <RecordPanel {...common} key={state.record} id={state.record} rows={page?.data} />
            )}
          </div>
        )}
      </Page>
    </div>
  );
}

const Lead = ({ endpoint: { description }, page }: { endpoint: Endpoint; page: RecordPage | undefined }) => (
  <>
    {description}
    {page?.syncedAt && (
      <>
        {description === '' ? 'Synced ' : ' · synced '}
        <Time at={page.syncedAt} relative />
      </>
    )}
  </>
);

/** Says which values may be out of date. */
const StaleNote = ({ fields }: { fields: RecordPage['staleFields'] }) =>
  fields.length > 0 && (
    <div class="note warn data-note">
      <p>The ERP sends no values of these fields at the moment, so those shown may be out of date:</p>
      <ul>
        {fields.map(({ name, since }) => (
          <li key={name}>
            <code>{name}</code> since <Time at={since} />
          </li>
        ))}
      </ul>
    </div>
  );

type TableProps = {
  endpoint: Endpoint;
  state: State;
  columns: readonly string[];
  types: Types;
  masked: ReadonlySet<string>;
  page: RecordPage | undefined;
};

function RecordTable({ endpoint, state, columns, types, masked, page }: TableProps) {
  const id: Column<RecordRow> = {
    title: 'id',
    cell: ({ id: value }) => (
      <a
        href={addressWith({ record: String(value) })}
        aria-current={value === state.record ? 'true' : undefined}
        aria-label={`Open record ${value}`}
      >
        {String(value)}
      </a>
    ),
  };
  const listed = columns
    .filter((name) => endpoint.fields.some((field) => field.name === name))
    .map((name): Column<RecordRow> => {
      const [type, isMasked] = [types.get(name), masked.has(name)];
      return {
        title: isMasked ? `${name} (masked)` : name,
        cell: (row) => <Shown value={row[name]} type={type} />,
        ...((type === 'number' || type === 'integer') && !isMasked && { align: 'end' }),
        ...(endpoint.sorts?.includes(name) === true && !isMasked && { sort: name }),
      };
    });
  return (
    <Table
      label={`Records of ${endpoint.name}`}
      columns={[id, ...listed]}
      rows={page?.data}
      rowKey={(row) => String(row['id'])}
      sorting={{ key: state.sort, order: state.order }}
      onSort={({ key, order }) => show({ sort: key, order: order === 'desc' ? order : null })}
      empty={
        <NoRecords
          isFiltered={state.filters.length > 0 || state.q !== ''}
          isBeyond={(page?.pagination.total ?? 0) > 0}
        />
      }
    />
  );
}

function NoRecords({ isFiltered, isBeyond }: { isFiltered: boolean; isBeyond: boolean }) {
  const empty = (title: string, label: string, changes: Parameters<typeof show>[0]) => (
    <Empty title={title}>
      <button type="button" onClick={() => show(changes)}>
        {label}
      </button>
    </Empty>
  );
  if (isBeyond) return empty('There are no records on this page.', 'Go to the first page', { page: null });
  if (isFiltered) return empty('Nothing matches these filters.', 'Clear filters', { filter: null, q: null });
  return (
    <Empty title="There are no records yet.">
      <a href={`${base}/syncs`}>See whether the sync has run</a>
    </Empty>
  );
}
