// The fields of a record type, each with its checkbox. Rows are rendered once: filtering hides them, and a
// choice changes one checkbox.
import { computed } from '@preact/signals';
import { formatCount } from '../../format.ts';
import { Field as Input, Select } from '../../parts/form.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { base } from '../../router.ts';
import { type Field, type FieldChoice, type Show, shows, syncableNames } from './field-choice.ts';

/** The words of types whose name is none. */
const typeWords: Readonly<Record<string, string>> = {
  integer: 'whole number',
  boolean: 'yes or no',
  time: 'date and time',
};

type TableProps = {
  fields: readonly Field[];
  choice: FieldChoice;
  proposal: ReadonlyMap<string, string>;
  editable: boolean;
  /** Why none can be synced; not repeated in each row. */
  typeReason: string | null;
};

const Lines = ({ fields }: { fields: NonNullable<Field['fields']> }) => (
  <details>
    <summary>{formatCount(fields.length, 'field')} of each line</summary>
    <ul class="fine">
      {fields.map(({ name, label, syncable, reason }) => (
        <li key={name}>
          {label} <code>{name}</code> {!syncable && `(${reason ?? "can't be synced"})`}
        </li>
      ))}
    </ul>
  </details>
);

function describeNotes(field: Field, why: string | undefined, typeReason: string | null): string {
  const { name, custom, volatile, loading, reason, warning, syncable } = field;
  const refused = reason === null || reason === typeReason ? "Can't be synced" : `Can't be synced: ${reason}`;
  const notes = [
    name === 'id' && syncable && 'Always read',
    custom && 'Custom',
    loading && 'Being filled',
    volatile && 'Changes silently',
    why && name !== 'id' && `Proposed: ${why}`,
    !syncable && refused,
    warning,
  ];
  return notes.filter(Boolean).join(' · ');
}

const createColumns = ({ choice, proposal, editable, typeReason }: TableProps): readonly Column<Field>[] => {
  const box: Column<Field> = {
    title: 'Sync',
    cell: (field) => (
      <input
        type="checkbox"
        aria-label={`Sync ${field.label} (${field.name})`}
        checked={computed(() => choice.chosen.value.has(field.name))}
        disabled={!field.syncable || field.name === 'id'}
        onChange={(event) => choice.toggle([field.name], event.currentTarget.checked)}
      />
    ),
  };
  return [
    ...(editable ? [box] : []),
    {
      title: 'Field',
      cell: ({ name, label, fields }) => (
        <>
          <span class="rt-name">{label}</span>
          {label !== name && <code class="fine">{name}</code>}
          {fields !== undefined && <Lines fields={fields} />}
        </>
      ),
    },
    {
      title: 'Type',
      cell: ({ type, target }) => (
        <>
          {typeWords[type] ?? type}
          {target !== undefined && ' to '}
          {target !== undefined && (
            <a href={`${base}/record-types/${encodeURIComponent(target)}`}>{target}</a>
          )}
        </>
      ),
    },
    {
      title: 'Notes',
      minor: true,
      cell: (field) => <span class="fine">{describeNotes(field, proposal.get(field.name), typeReason)}</span>,
    },
  ];
};

function Toolbar({ fields, choice, proposal, editable }: TableProps) {
  const { q, show, chosen, matches, toggle, replace } = choice;
  const buttons = [
    ['Choose all shown', () => toggle(matches.value, true)],
    ['Clear all shown', () => toggle(matches.value, false)],
    ['Choose the proposal', () => replace(proposal.keys())],
  ] as const;
  return (
    <>
      <search class="toolbar" aria-label="Filter fields">
        <Input
          label="Search fields"
          type="search"
          value={q.value}
          onChange={(text) => {
            q.value = text;
          }}
          placeholder="Name, label or type"
        />
        <Select
          label="Show"
          value={show.value}
          onChange={(value) => {
            show.value = value as Show;
          }}
          options={Object.entries(shows)}
        />
        <p class="fine" role="status">
          {editable &&
            `${chosen.value.size} of ${formatCount(syncableNames(fields).length, 'field')} chosen, `}
          {formatCount(matches.value.size, 'field')} shown
        </p>
      </search>
      {editable && (
        <div class="row rt-buttons">
          {buttons.map(([label, act]) => (
            <button key={label} type="button" onClick={act}>
              {label}
            </button>
          ))}
        </div>
      )}
    </>
  );
}

/** No part of it depends on the choice: a change reaches single rows alone. */
export const FieldTable = (props: TableProps) => (
  <div class="rt-fields">
    <Toolbar {...props} />
    <Table
      label="Fields of the record type"
      columns={createColumns(props)}
      rows={props.fields}
      rowKey={({ name }) => name}
      rowHidden={({ name }) => computed(() => !props.choice.matches.value.has(name))}
    />
  </div>
);
