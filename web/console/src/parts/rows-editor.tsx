// Edits a short list of small records, such as the filters of a view: one row of inputs each.
import type { ComponentChild, ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Choice, Suggestions } from './form.tsx';

export type RowColumn = {
  readonly name: string;
  readonly label: string;
  readonly options?: readonly (readonly [value: string, title: string])[] | undefined;
  /** One of these names, which depend on the rest of the row. A value that isn't one of them stays. */
  readonly listNames?: (row: EditedRow) => readonly string[];
  /** Offered while typing. */
  readonly known?: readonly string[];
  /** In place of an input; null for the input. */
  readonly edit?: (cell: EditedCell) => ComponentChild;
};
type EditedCell = {
  readonly label: string;
  readonly value: string;
  readonly row: EditedRow;
  readonly onChange: (value: string) => void;
};
export type EditedRow = Readonly<Record<string, string>>;

type RowsEditorProps = {
  /** What the rows are, such as `Filters`. */
  label: string;
  hint?: ComponentChildren;
  /** What one row is, such as `filter`. */
  item: string;
  columns: readonly RowColumn[];
  rows: readonly EditedRow[];
  onChange: (rows: readonly EditedRow[]) => void;
};

function Cell({ column, ...cell }: EditedCell & { column: RowColumn }) {
  const { label, value, onChange } = cell;
  const id = useId();
  const own = column.edit?.(cell) ?? null;
  if (own !== null) return <>{own}</>;
  if (column.options !== undefined)
    return <Choice aria-label={label} value={value} onChange={onChange} options={column.options} />;
  return (
    <>
      <input
        aria-label={label}
        placeholder={column.label}
        value={value}
        list={column.known && id}
        autoComplete="off"
        onInput={(event) => onChange(event.currentTarget.value)}
      />
      <Suggestions id={id} values={column.known} />
    </>
  );
}

const listOptions = ({ name, options, listNames }: RowColumn, row: EditedRow): RowColumn['options'] =>
  listNames === undefined
    ? options
    : [...new Set([...listNames(row), row[name] ?? ''])].map((one) => [one, one]);

/**
 * The row with another value. Names in later columns that its change rules out become the first possible
 * ones.
 */
function withValue(columns: readonly RowColumn[], row: EditedRow, changed: string, value: string): EditedRow {
  const next: Record<string, string> = { ...row, [changed]: value };
  for (const { name, listNames } of columns.slice(columns.findIndex(({ name }) => name === changed) + 1)) {
    const names = listNames?.(next);
    if (names?.includes(next[name] ?? '') === false) next[name] = names[0] ?? '';
  }
  return next;
}

export function RowsEditor({ label, hint, item, columns, rows, onChange }: RowsEditorProps) {
  const first = Object.fromEntries(
    columns.map(({ name, options, listNames }) => [name, options?.[0]?.[0] ?? listNames?.({})[0] ?? '']),
  );
  const fieldset = useRef<HTMLFieldSetElement>(null);
  const count = useRef(rows.length);
  useEffect(() => {
    // The keyboard goes on in the row that was added, or on the button when one was removed.
    const added = rows.length > count.current;
    if (rows.length !== count.current)
      fieldset.current
        ?.querySelector<HTMLElement>(
          added ? '.rows-row:nth-last-child(2) :is(input, select)' : ':scope > p button',
        )
        ?.focus();
    count.current = rows.length;
  }, [rows.length]);
  const replace = (at: number, row: EditedRow): void =>
    onChange(rows.map((one, index) => (index === at ? row : one)));
  return (
    <fieldset class="rows" ref={fieldset}>
      <legend>{label}</legend>
      {hint !== undefined && <p class="fine">{hint}</p>}
      {rows.map((row, index) => (
        // Rows have no identity but their place.
        <div class="rows-row" key={index}>
          {columns.map((column) => (
            <Cell
              key={column.name}
              column={{ ...column, options: listOptions(column, row) }}
              label={`${column.label} of ${item} ${index + 1}`}
              value={row[column.name] ?? ''}
              row={row}
              onChange={(value) => replace(index, withValue(columns, row, column.name, value))}
            />
          ))}
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${item} ${index + 1}`}
            onClick={() => onChange(rows.filter((_, at) => at !== index))}
          >
            ✕
          </button>
        </div>
      ))}
      <p>
        <button type="button" onClick={() => onChange([...rows, first])}>
          Add {item}
        </button>
      </p>
    </fieldset>
  );
}
