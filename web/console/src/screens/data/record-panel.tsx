// One record with all its fields and lines, next to the list. Its id is in the address, so that a link opens
// it.
import { useEffect, useRef } from 'preact/hooks';
import { Facts } from '../../parts/list.tsx';
import { Problem } from '../../parts/problem.tsx';
import { type Line, type Place, type RecordRow, Shown, useRecords } from '../../parts/read-records.tsx';
import { Table } from '../../parts/table.tsx';
import { show } from './address.ts';
import type { Endpoint, Types } from './endpoint.ts';
import type { Looking } from './record-table.tsx';

type PanelProps = {
  place: Place;
  endpoint: Endpoint;
  id: string;
  types: Types;
  /** The page of the list, once it is read. */
  rows: readonly RecordRow[] | undefined;
  isLooking: Looking;
  isWide: boolean;
  setWide: (isWide: boolean) => void;
};

export function RecordPanel(props: PanelProps) {
  const { place, endpoint, id, types, rows, isLooking, isWide, setWide } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (!isLooking.current) heading.current?.focus();
  }, []);
  const row = rows?.find((one) => one['id'] === id);
  const read = useRecords(place, rows === undefined || row !== undefined ? null : [['id', id]]);
  const record = row ?? read.data?.data[0];
  const close = (): void => {
    const next =
      document.querySelector<HTMLElement>('.data-records a[aria-current]') ?? document.getElementById('main');
    next?.focus({ preventScroll: true });
    show({ record: null });
  };
  return (
    <aside
      class="data-record card"
      aria-labelledby="record-title"
      onKeyDown={({ key }) => key === 'Escape' && close()}
    >
      <header class="dialog-head">
        <h2 id="record-title" tabIndex={-1} ref={heading}>
          Record {id}
        </h2>
        <button type="button" class="link record-width" onClick={() => setWide(!isWide)}>
          {isWide ? 'Narrower' : 'Wider'}
        </button>
        <button type="button" class="plain" aria-label="Close the record" onClick={close}>
          ✕
        </button>
      </header>
      <Problem error={read.error} />
      {record === undefined && read.data !== undefined && <p>There is no record with this id.</p>}
      {record !== undefined && <Fields endpoint={endpoint} record={record} types={types} />}
    </aside>
  );
}

function Fields({
  endpoint: { fields },
  record,
  types,
}: Pick<PanelProps, 'endpoint' | 'types'> & { record: RecordRow }) {
  const isLines = ({ name, fields: columns }: Endpoint['fields'][number]): boolean =>
    columns !== undefined && Array.isArray(record[name]);
  return (
    <div class="stack">
      <Facts
        facts={fields
          .filter((field) => !isLines(field))
          .map(({ name, description, mask }) => [
            name,
            <span key={name} title={description}>
              <Shown value={record[name]} type={types.get(name)} />
              {mask !== undefined && <span class="muted"> · masked for readers without unmasked access</span>}
            </span>,
          ])}
      />
      {fields.filter(isLines).map(({ name, fields: columns = [] }) => {
        const lines = record[name] as readonly Line[];
        return (
          <section key={name} aria-label={name} class="stack">
            <h3>
              {name} ({lines.length})
            </h3>
            <Table
              label={`Lines of ${name}`}
              rows={lines}
              rowKey={(_, index) => String(index)}
              columns={columns.map((field) => ({
                title: field.name,
                cell: (line: Line) => <Shown value={line[field.name]} />,
              }))}
              empty={<p class="muted">None</p>}
            />
          </section>
        );
      })}
    </div>
  );
}
