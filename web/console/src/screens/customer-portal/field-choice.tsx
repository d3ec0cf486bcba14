// Inputs of the portal's settings: a field of a record type, and conditions on its fields.
import type { ApiError } from '../../api.ts';
import { findProblem } from '../../parts/field-problems.ts';
import { Field, Select } from '../../parts/form.tsx';
import { type EditedRow, type RowColumn, RowsEditor } from '../../parts/rows-editor.tsx';
import type { People } from './data.ts';
import { type FieldUse, toOptions, useSyncedFields } from './synced-fields.ts';

type FieldChoiceProps = {
  label: string;
  recordType: string;
  use: FieldUse;
  value: string;
  onChange: (value: string) => void;
  /** Before the fields of the record type. */
  first?: readonly (readonly [value: string, title: string])[];
  hint?: string;
  problem: string | undefined;
};

/** A choice of fields that fit; an input where the fields aren't known. */
export function FieldChoice({ recordType, use, first = [], ...input }: FieldChoiceProps) {
  const fields = useSyncedFields(recordType);
  if (fields === undefined) return <Field {...input} />;
  return <Select {...input} options={toOptions(fields, use, input.value, first)} />;
}

type Conditions = People['conditions'];

const toRow = ({ field, in: values }: Conditions[number]): EditedRow => ({
  field,
  values: values.join('\n'),
});
const toCondition = ({ field = '', values = '' }: EditedRow): Conditions[number] => ({
  field,
  in: values.split('\n'),
});

/** `isWrong`: of which rows something is said. */
const toValuesColumn = (isWrong: (row: EditedRow) => boolean): RowColumn => ({
  name: 'values',
  label: 'Values',
  edit: ({ label, value, row, onChange }) => (
    <textarea
      aria-label={label}
      aria-invalid={isWrong(row)}
      placeholder="One value a line"
      spellcheck={false}
      rows={value.split('\n').length}
      value={value}
      onInput={(event) => onChange(event.currentTarget.value)}
    />
  ),
});

type ConditionsProps = {
  recordType: string;
  conditions: Conditions;
  onChange: (conditions: Conditions) => void;
  /** Where the service's problems name them. */
  path: string;
  error: ApiError | undefined;
};

export function ConditionsEditor({ recordType, conditions, onChange, path, error }: ConditionsProps) {
  const fields = useSyncedFields(recordType);
  const names = fields && toOptions(fields, 'any', 'id', [['id', 'id']]).map(([source]) => source);
  const field = { name: 'field', label: 'Field', ...(names !== undefined && { listNames: () => names }) };
  const rows = conditions.map(toRow);
  const isWrong = (row: EditedRow): boolean =>
    findProblem(error, `${path}[${rows.indexOf(row)}]`) !== undefined;
  const problem = findProblem(error, path);
  return (
    <RowsEditor
      label="Only where"
      hint={problem === undefined ? 'The field is one of the values.' : <span class="wrong">{problem}</span>}
      item="condition"
      columns={[field, toValuesColumn(isWrong)]}
      rows={rows}
      onChange={(edited) => onChange(edited.map(toCondition))}
    />
  );
}
