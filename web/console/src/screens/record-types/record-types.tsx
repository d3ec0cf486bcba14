// The record types of a connection: search, filters, and the choice of many to sync at once. Which connection,
// if there are several, is in the address.
import '../../styles/record-types.css';
import { api } from '../../api.ts';
import { formatCount } from '../../format.ts';
import { type Connection, useConnections } from '../../parts/connections.ts';
import { Pending } from '../../parts/detail.tsx';
import { type Action, useAction } from '../../parts/dialog.tsx';
import { Select } from '../../parts/form.tsx';
import { Empty, Page } from '../../parts/page.tsx';
import { Working } from '../../parts/plot.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Time } from '../../parts/time.tsx';
import { invalidate } from '../../query.ts';
import { base, query, setQuery } from '../../router.ts';
import { mayConnection } from '../../session.ts';
import { type Catalogue, listAddress, useCatalogue } from './catalogue.ts';
import { Plan } from './plan.tsx';
import { TypeList } from './type-table.tsx';

const Lead = ({ count, at }: { count: number; at: string | null }) => (
  <>
    {formatCount(count, 'record type')} of the account, read <Time at={at} relative />. Open one to choose its
    fields, or mark several to sync all of their fields.
  </>
);

/** Another connection has other record types: no filter and no page number stays. */
const ConnectionChoice = ({ all, shown }: { all: readonly Connection[]; shown: string }) =>
  all.length > 1 && (
    <div class="rt-connection">
      <Select
        label="Connection"
        value={shown}
        onChange={(connection) =>
          setQuery({ connection, page: null, state: null, family: null, origin: null })
        }
        options={all.map(({ name }) => [name, name])}
      />
    </div>
  );

type RefreshProps = { connection: string; refresh: Action; label: string; kind: string };

const Refresh = ({ connection, refresh, label, kind }: RefreshProps) =>
  mayConnection('update', connection) && (
    <button type="button" class={kind} disabled={refresh.busy} onClick={refresh.submit}>
      {label}
    </button>
  );

type ListedProps = { catalogue: Catalogue; read: ReturnType<typeof useCatalogue>; connection: string };

const Listed = ({ catalogue: { lastError, heads }, read, connection }: ListedProps) => (
  <>
    {lastError !== null && (
      <p class="note warn">The last refresh failed, the list is of an earlier one: {lastError}</p>
    )}
    <TypeList {...{ read, heads, connection }} />
  </>
);

function OfConnection({ all, connection }: { all: readonly Connection[]; connection: string }) {
  const read = useCatalogue(connection);
  const { data: catalogue } = read;
  const refresh = useAction(async () => {
    const params = { path: { connection } };
    await api.POST('/connections/{connection}/metadata/refresh', { params });
    await invalidate('/connections/');
  });
  const isListed = catalogue !== undefined && catalogue.notListed === null;
  if (isListed && query.value.get('plan') !== null)
    return <Plan heads={catalogue.heads} list={listAddress(connection)} />;
  return (
    <Page
      title="Record types"
      lead={isListed && <Lead count={catalogue.heads.length} at={catalogue.refreshedAt} />}
      actions={isListed && <Refresh {...{ connection, refresh }} label="Refresh from the ERP" kind="" />}
    >
      <ConnectionChoice all={all} shown={connection} />
      {refresh.busy && (
        <Working label="Reading the record types of the account, which takes up to a few minutes" />
      )}
      <Problem error={refresh.error} />
      {catalogue === undefined && <Problem error={read.error} retry={() => void read.reload()} />}
      {catalogue !== undefined && !isListed && (
        <Empty title="The record types of the account are not read yet.">
          <Refresh {...{ connection, refresh }} label="Read the record types" kind="primary" />
        </Empty>
      )}
      {isListed && <Listed {...{ catalogue, read, connection }} />}
    </Page>
  );
}

export function RecordTypes() {
  const read = useConnections();
  const { data: all } = read;
  const wanted = query.value.get('connection');
  const shown = all?.find(({ name }) => name === wanted) ?? all?.[0];
  if (all !== undefined && shown !== undefined)
    return <OfConnection key={shown.name} all={all} connection={shown.name} />;
  return (
    <Page title="Record types">
      {all === undefined ? (
        <Pending {...read} />
      ) : (
        <Empty title="No ERP is connected yet.">
          <a class="button primary" href={`${base}/connection`}>
            Connect your ERP
          </a>
        </Empty>
      )}
    </Page>
  );
}
