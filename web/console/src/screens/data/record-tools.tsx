// What can be done with what the list shows: choose its columns, save it as a view, export it, see it as a
// request.
import { formatCount } from '../../format.ts';
import { Copy, publicRequest } from '../../parts/copy.tsx';
import { ExportMenu } from '../../parts/download.tsx';
import type { Place, RecordPage } from '../../parts/read-records.tsx';
import { DialogButton } from '../../parts/record-form.tsx';
import { base } from '../../router.ts';
import { may } from '../../session.ts';
import { type State, show, toParameters } from './address.ts';
import { Columns } from './columns.tsx';
import type { Endpoint, Types } from './endpoint.ts';
import { listGroups } from './plot-groups.ts';
import { SaveView } from './save-view.tsx';
import type { Layout } from './use-layout.ts';

type ToolsProps = {
  version: string;
  endpoint: Endpoint;
  state: State;
  columns: readonly string[];
  types: Types;
  place: Place;
  page: RecordPage | undefined;
  layout: Layout;
  setPinned: (pinned: readonly string[]) => void;
};

export function RecordTools(props: ToolsProps) {
  const { version, endpoint, state, place, page, layout } = props;
  const [group] = listGroups(page?.fields ?? []);
  // Chosen columns also narrow exports and requests.
  const fields = state.columns === null ? [] : [['fields', state.columns.join()] as const];
  const selection = [...toParameters(state), ...fields] as [string, string][];
  return (
    <>
      {state.plot === null && group !== undefined && (
        <button type="button" onClick={() => show({ plot: group.name })}>
          Plot
        </button>
      )}
      <DialogButton label="Columns">
        {(close) => <Columns {...props} pinned={layout.pinned} close={close} />}
      </DialogButton>
      <DialogButton label="As a request" title="This list as a request">
        {() => (
          <div class="stack">
            <p>
              Put the secret of an <a href={`${base}/keys`}>API key</a> in place of <code>YOUR_API_KEY</code>.{' '}
              <Reference version={version} />
            </p>
            <Copy text={publicRequest(`/${version}/${endpoint.name}?${new URLSearchParams(selection)}`)} />
          </div>
        )}
      </DialogButton>
      {may('view:create') && (
        <DialogButton label="Save as view">{() => <SaveView {...props} />}</DialogButton>
      )}
      {may('view:read') && (
        <a class="button" href={`${base}/views?recordType=${endpoint.recordType}`}>
          Views
        </a>
      )}
      <ExportMenu
        path={`/api-schema/${place.id}/records/${place.resource}`}
        query={selection}
        fileName={`${version}-${endpoint.name}`}
        content={page && describeExport(page, state)}
      />
    </>
  );
}

function describeExport({ pagination: { total } }: RecordPage, { filters, q, columns }: State): string {
  const selected = filters.length > 0 || q !== '' ? ' as filtered' : '';
  return `${formatCount(total, 'record')}${selected}, with ${columns === null ? 'all fields' : 'the chosen columns'}`;
}

export const Reference = ({ version }: { version: string }) => (
  <a href={`/api/public/openapi/${version}/preview`} target="_blank" rel="noreferrer">
    Reference of {version}
  </a>
);
