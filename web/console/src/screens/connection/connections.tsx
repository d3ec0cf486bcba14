// The organization's connections, and the choice of a kind for another one. An organization without a
// connection begins with this choice.
import '../../styles/connection.css';
import { kinds } from 'virtual:connection-kinds';
import { formatNumber } from '../../format.ts';
import { type Connection, useConnections } from '../../parts/connections.ts';
import { Pending, stateColumn } from '../../parts/detail.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { useGet } from '../../query.ts';
import { base, query } from '../../router.ts';
import { may, mayConnection } from '../../session.ts';
import { connectionStates } from '../../states.ts';
import { SetUp } from './set-up.tsx';
import { addAddress, addressOf, findKind, listAddress, titleOf } from './words.ts';

function RecordTypes({ name }: Connection) {
  const params = { path: { connection: name }, query: { pageSize: 1 } };
  const { data } = useGet('/connections/{connection}/metadata', params);
  if (data === undefined) return null;
  if (data.notListed !== null) return <span class="muted">Not read yet</span>;
  const count = formatNumber(data.pagination.total);
  return (
    <a href={`${base}/record-types?connection=${name}`} aria-label={`${count} record types of ${name}`}>
      {count}
    </a>
  );
}

const columns: readonly Column<Connection>[] = [
  {
    title: 'Connection',
    cell: (connection) => (
      <>
        <a href={addressOf(connection.name)}>{connection.name}</a>
        <span class="fine">{titleOf(connection)}</span>
      </>
    ),
  },
  stateColumn(connectionStates),
  { title: 'Record types', align: 'end', cell: RecordTypes },
];

/** `above`: the way back where there is one. */
const Kinds = ({ title, above }: { title: string; above: { to: string; title: string }[] }) => (
  <Page title={title} lead="Which ERP should the service read?" above={above}>
    <ul class="cx-kinds">
      {kinds
        .filter(({ kind }) => may('connection:create') || kind === 'netsuite')
        .map(({ kind, title: name, text }) => (
          <li key={kind}>
            <a class="card" href={addAddress(kind)}>
              <strong>{name}</strong>
              <span>{text}</span>
            </a>
          </li>
        ))}
    </ul>
  </Page>
);

const title = 'Connections';

export function Connections() {
  const read = useConnections();
  const { data } = read;
  if (data === undefined)
    return (
      <Page title={title}>
        <Pending {...read} />
      </Page>
    );
  const taken = data.map(({ name }) => name);
  const mayAdd = may('connection:create') || (mayConnection('update') && !taken.includes('netsuite'));
  const wanted = query.value.get('add');
  const kind = findKind(wanted)?.kind;
  if (mayAdd && kind !== undefined) return <SetUp step="settings" connection={null} {...{ kind, taken }} />;
  if (mayAdd && data.length === 0) return <Kinds title="Connect your ERP" above={[]} />;
  if (mayAdd && wanted !== null)
    return <Kinds title="Add a connection" above={[{ to: listAddress, title }]} />;
  const add = (
    <a class="button" href={addAddress()}>
      Add connection
    </a>
  );
  return (
    <Page title={title} lead="The ERP accounts that the service reads." actions={mayAdd && add}>
      <Table
        label="List of connections"
        columns={columns}
        rows={data}
        rowKey={({ name }) => name}
        empty={
          <Empty title="No ERP is connected yet.">
            <p>Connecting one requires the permission connection:create.</p>
          </Empty>
        }
      />
    </Page>
  );
}
