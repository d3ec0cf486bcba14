// The settings of one field in the panel: what callers may do with it, access, source, description.
import { useEffect, useRef } from 'preact/hooks';
import { Check, Checks, Field as Input, Select } from '../../parts/form.tsx';
import {
  changeAt,
  type Endpoint,
  type Field,
  type FlatField,
  flatFields,
  moveField,
  type Spot,
} from './document.ts';
import { AccessChoice, FilterChoice, ListChoice, SummaryChoice } from './field-choices.tsx';
import { rowId, type TableProps } from './row-cells.tsx';
import { findSource, findType, lineFor, type Sources, sourceAt } from './sources.ts';

type Props = TableProps & { readonly opened: Spot; readonly close: () => void };

/** Escape leads back to the button that opened them. */
export function FieldSettings({ opened, close, ...props }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), [rowId(opened)]);
  const row = flatFields(props.endpoint).find(({ spot }) => rowId(spot) === rowId(opened));
  if (row === undefined) return null;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape bubbles here from the inputs
    <div class="stack" onKeyDown={(event) => event.key === 'Escape' && close()}>
      <div class="section-head">
        <h2 ref={heading} tabIndex={-1}>
          {row.path}
        </h2>
        <button type="button" class="link" onClick={close}>
          Back
        </button>
      </div>
      <Settings {...props} {...row} />
    </div>
  );
}

type FieldProps = TableProps & FlatField;

function Settings({ endpoint, sources, set, spot, path, field }: FieldProps) {
  const isLine = spot.line !== null;
  const hasLines = field.fields !== undefined;
  const setField = (part: Partial<Field>): void => set(changeAt(endpoint, spot, part));
  const source = sourceAt(sources, endpoint, spot);
  const type = findType(source, field);
  const isScopable =
    !isLine && field.as !== 'list' && !(source !== undefined && 'scopable' in source && !source.scopable);
  const choice = { endpoint, path, sources, type, isLine, set };
  return (
    <>
      <p class="fine">
        <code>{field.source}</code> {[source?.label, type].filter(Boolean).join(' · ')}
      </p>
      {!hasLines && (
        <>
          <FilterChoice {...choice} />
          {!isLine && <ListChoice {...choice} />}
          {!isLine && <SummaryChoice {...choice} />}
          <AccessChoice {...choice} field={field} isScopable={isScopable} change={setField} />
        </>
      )}
      <Input
        label="Description"
        value={field.description}
        onChange={(description) => setField({ description })}
        rows={2}
      />
      {hasLines && <LinesToAdd sources={sources} field={field} change={setField} />}
      {!hasLines && !isLine && (
        <Select
          label="Source"
          value={field.source}
          onChange={(next) => setField({ source: next })}
          options={sourceOptions(sources, field.source)}
        />
      )}
      <WrittenAs source={source} field={field} change={setField} />
      {!isLine && <Places endpoint={endpoint} at={spot.field} set={set} />}
    </>
  );
}

type WrittenProps = {
  source: ReturnType<typeof sourceAt>;
  field: Field;
  change: (part: Partial<Field>) => void;
};

/** Several choices may be a list, and numbers texts. */
function WrittenAs({ source, field: { as }, change }: WrittenProps) {
  if (source?.list != null || as === 'list')
    return (
      <Check
        label="Write as a list"
        hint="An array with one entry for each choice, instead of one text."
        checked={as === 'list'}
        onChange={(on) => change({ as: (on ? 'list' : undefined) as 'list' })}
      />
    );
  if (source?.type !== 'number' && source?.type !== 'integer' && as === undefined) return null;
  return (
    <Check
      label="Write as text"
      hint="Keeps every digit of large numbers."
      checked={as === 'string'}
      onChange={(on) => change({ as: on ? 'string' : 'number' })}
    />
  );
}

type LinesProps = { sources: Sources | undefined; field: Field; change: (part: Partial<Field>) => void };

/** What of the lines isn't published yet. */
function LinesToAdd({ sources, field: { source, fields = [] }, change }: LinesProps) {
  const rest = (findSource(sources, source)?.lines ?? []).filter(
    (line) => !fields.some((one) => one.source === line.source),
  );
  return (
    rest.length > 0 && (
      <Checks
        label="Fields of lines to add"
        options={rest.map((line) => ({ name: line.source, description: `${line.label} · ${line.type}` }))}
        chosen={[]}
        onChange={([added]) =>
          change({
            fields: [
              ...fields,
              ...rest.filter((line) => line.source === added).map((line) => lineFor(line, fields)),
            ],
          })
        }
      />
    )
  );
}

const Places = ({ endpoint, at, set }: { endpoint: Endpoint; at: number; set: (next: Endpoint) => void }) => (
  <p class="row">
    {([-1, 1] as const).map((by) => (
      <button
        key={by}
        type="button"
        class="small"
        disabled={endpoint.fields[at + by] === undefined}
        onClick={() => set(moveField(endpoint, at, by))}
      >
        {by < 0 ? 'Move up' : 'Move down'}
      </button>
    ))}
  </p>
);

function sourceOptions(sources: Sources | undefined, current: string): (readonly [string, string])[] {
  const known = (sources?.sources ?? [])
    .filter(({ type }) => type !== 'lines')
    .map(({ source, label, type }) => [source, `${label} · ${source} · ${type}`] as const);
  return known.some(([source]) => source === current)
    ? known
    : [[current, `${current} (not synced)`], ...known];
}
