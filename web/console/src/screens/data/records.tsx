// The records of one resource of a version: searched, filtered, sorted and paged as its callers may, with the
// same values.
import { useRef, useState } from 'preact/hooks';
import { keep, readKept } from '../../kept.ts';
import { Unread } from '../../parts/detail.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Pager } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { type Read, useGet } from '../../query.ts';
import { base, type ScreenProps } from '../../router.ts';
import '../../styles/data.css';
import { type Place, type RecordPage, useRecords } from '../../parts/read-records.tsx';
import { misunderstood, readAddress, show, toParameters } from './address.ts';
import { defaultColumns, type Endpoint } from './endpoint.ts';
import { FilterBar } from './filter-bar.tsx';
import { RecordPanel } from './record-panel.tsx';
import { RecordPlot } from './record-plot.tsx';
import { RecordTable, type TableProps } from './record-table.tsx';
import { RecordTools } from './record-tools.tsx';
import { Totals } from './totals.tsx';
import { useLayout } from './use-layout.ts';

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

/** Whether an opened record has most of the window: if it has lines, unless the person wants it narrow. */
function useWideRecord({ fields }: Endpoint) {
  const name = 'wide records';
  const [isWide, setWide] = useState(() => readKept<boolean>(name, 'localStorage'));
  const change = (next: boolean): void => {
    keep(name, next, 'localStorage');
    setWide(next);
  };
  return [isWide ?? fields.some(({ source }) => source === 'lines'), change] as const;
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
  const common = { version, endpoint, state, columns, types, masked, place, ...useLayout(title) };
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
          <ListAndRecord {...common} page={page} />
        )}
      </Page>
    </div>
  );
}

function ListAndRecord(
  props: Omit<TableProps, 'isLooking'> & { place: Place; page: RecordPage | undefined },
) {
  const { state, endpoint, page } = props;
  const isLooking = useRef(false);
  const [isWide, setWide] = useWideRecord(endpoint);
  return (
    <div class={state.record === null ? '' : `data-split ${isWide ? 'wide-record' : ''}`}>
      <div class="data-records">
        <RecordTable {...props} isLooking={isLooking} />
        <Pager pagination={page?.pagination} onPage={(next) => show({ page: String(next) })} />
      </div>
      {state.record !== null && (
        <RecordPanel
          {...props}
          key={state.record}
          id={state.record}
          rows={page?.data}
          isLooking={isLooking}
          isWide={isWide}
          setWide={setWide}
        />
      )}
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
