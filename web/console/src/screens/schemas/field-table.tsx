// The fields of a resource as a table: names to type in, values of real records next to them, and what
// callers may do with each. Sources that aren't published follow, to be ticked. More about a field is in the
// panel.
import { formatCount } from '../../format.ts';
import { Badge } from '../../parts/badge.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import {
  changeAt,
  type Endpoint,
  type FlatField,
  findAggregate,
  findGroup,
  flatFields,
  listOperators,
  type Spot,
  setSort,
} from './document.ts';
import { Faults, focusRow, listAccess, listUses, rowId, type TableProps } from './row-cells.tsx';
import { fieldFor, findType, listSamples, type Source, sourceAt } from './sources.ts';
import { useRename } from './use-rename.ts';

type Props = TableProps & {
  /** Positions of the fields to show. */
  readonly shown: readonly number[];
  /** Sources to offer. */
  readonly offered: readonly Source[];
  /** Whose settings the panel shows. */
  readonly opened: Spot | null;
  readonly open: (opened: Spot | null) => void;
};
type Row = FlatField | Source;

const isField = (row: Row): row is FlatField => 'spot' in row;

export function FieldTable(props: Props) {
  const { endpoint, shown, offered } = props;
  const fields = flatFields(endpoint).filter(({ spot }) => shown.includes(spot.field));
  return (
    <div class="schema-fields">
      <Table
        label={`Fields of ${endpoint.name}`}
        columns={createColumns(props)}
        rows={[...fields, ...offered]}
        // Names change while they are typed: a row is known by its position.
        rowKey={(row) => (isField(row) ? rowId(row.spot) : row.source)}
      />
    </div>
  );
}

const createColumns = (props: Props): readonly Column<Row>[] => [
  {
    title: 'On',
    cell: (row) => (isField(row) ? <Published {...props} row={row} /> : <Offered {...props} source={row} />),
  },
  {
    title: 'Name',
    cell: (row) => (
      <>
        {isField(row) ? <Name {...props} row={row} /> : <span class="muted">{row.label}</span>}
        <From {...props} row={row} />
      </>
    ),
  },
  {
    title: 'Uses',
    cell: (row) =>
      isField(row) ? (
        <Settings {...props} row={row} />
      ) : (
        row.state !== 'live' && <span class="fine">{row.state}</span>
      ),
  },
  {
    title: 'Sort',
    minor: true,
    cell: (row) =>
      isField(row) &&
      row.spot.line === null &&
      !row.field.fields &&
      row.field.as !== 'list' && <Sort {...props} row={row} />,
  },
  {
    title: 'Values',
    minor: true,
    cell: (row) => {
      const samples = isField(row)
        ? listSamples(props.sources, row.field.source, row.spot.line !== null)
        : listSamples(props.sources, row.source, false);
      return (
        <span class="fine schema-cut" title={samples.join('\n')}>
          {samples.join(' · ') || 'no value'}
        </span>
      );
    },
  },
];

type TickProps = {
  label: string;
  checked: boolean;
  disabled?: boolean;
  onChange: (checked: boolean) => void;
};
const Tick = ({ label, onChange, ...props }: TickProps) => (
  <input
    type="checkbox"
    aria-label={label}
    {...props}
    onChange={(event) => onChange(event.currentTarget.checked)}
  />
);

type FieldProps = Props & { readonly row: FlatField };

function Published({ endpoint, set, open, row: { spot, path } }: FieldProps) {
  const remove = (): void => {
    const next = changeAt(endpoint, spot, null);
    open(null);
    set(next);
    focusRow({ field: Math.min(spot.field, next.fields.length - 1), line: null });
  };
  // The last field stays: a resource without fields is not allowed.
  return (
    <Tick
      label={`Publish ${path}`}
      checked
      disabled={spot.line === null && endpoint.fields.length === 1}
      onChange={remove}
    />
  );
}

/** A tick proposes a name for the source. */
function Offered({ endpoint, set, source }: Props & { readonly source: Source }) {
  const { fields } = endpoint;
  const add = (): void => {
    set({ ...endpoint, fields: [...fields, fieldFor(source, fields)] });
    focusRow({ field: fields.length, line: null });
  };
  return <Tick label={`Publish ${source.source}`} checked={false} onChange={add} />;
}

const Sort = ({ endpoint, set, row: { path } }: FieldProps) => (
  <Tick
    label={`Sort by ${path}`}
    checked={endpoint.sorts.includes(path)}
    onChange={(on) => set(setSort(endpoint, path, on))}
  />
);

/** The source of a field with its type; its label is on hover, and in the panel. */
function From({ endpoint, sources, row }: Props & { readonly row: Row }) {
  const source = isField(row) ? row.field.source : row.source;
  const found = isField(row) ? sourceAt(sources, endpoint, row.spot) : row;
  const type = isField(row) ? findType(found, row.field) : row.type;
  return (
    <span class={`fine ${isField(row) && row.spot.line !== null ? 'schema-line' : ''}`} title={found?.label}>
      <code>{source}</code> {type ?? 'not synced'}
    </span>
  );
}

function Name({ endpoint, set, placed, row: { spot, field } }: FieldProps) {
  const { onChange, onBlur } = useRename(endpoint, (from, name) => changeAt(from, spot, { name }), set);
  const id = rowId(spot);
  const faults = placed.get(field);
  const words = [...listAccess(field), ...(field.fields ? [formatCount(field.fields.length, 'field')] : [])];
  return (
    <>
      <div class={`schema-name ${spot.line === null ? '' : 'schema-line'}`}>
        <input
          id={id}
          value={field.name}
          aria-label={`Name of ${field.source}${spot.line === null ? '' : ' of the lines'}`}
          aria-invalid={faults !== undefined}
          aria-describedby={`${id}-problems`}
          spellcheck={false}
          autoComplete="off"
          onInput={(event) => onChange(event.currentTarget.value)}
          onBlur={onBlur}
        />
        {words.map((word) => (
          <Badge key={word}>{word}</Badge>
        ))}
      </div>
      <Faults id={`${id}-problems`} messages={faults} />
    </>
  );
}

/** `2 filters, search`. */
const formatSummary = (endpoint: Endpoint, path: string, filters: number): string =>
  [
    ...(filters > 0 ? [formatCount(filters, 'filter')] : []),
    ...(endpoint.search?.includes(path) ? ['search'] : []),
    ...((findAggregate(endpoint, path) ?? findGroup(endpoint, path)) ? ['summary'] : []),
  ].join(', ') || 'none';

/**
 * Opens the settings of a field in the panel. Says how many uses it has, and each of them on hover and to
 * screen readers.
 */
function Settings({ endpoint, opened, open, row }: FieldProps) {
  const { spot, path } = row;
  const isOpen = opened !== null && rowId(opened) === rowId(spot);
  const operators = listOperators(endpoint, path);
  const text = row.field.fields ? 'settings' : formatSummary(endpoint, path, operators.length);
  const all = [...operators, ...listUses(endpoint, row)].join(', ');
  return (
    <button
      type="button"
      class="schema-uses"
      id={`${rowId(spot)}-settings`}
      title={all}
      aria-expanded={isOpen}
      aria-label={`Settings of ${path}: ${text}${all && ` (${all})`}`}
      onClick={() => open(isOpen ? null : spot)}
    >
      {text}
    </button>
  );
}
