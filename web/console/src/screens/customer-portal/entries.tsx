// The entries of the settings: where the addresses of people are, and which records they see.
import type { ApiError } from '../../api.ts';
import { findProblem } from '../../parts/field-problems.ts';
import { Select } from '../../parts/form.tsx';
import type { People, ShownRecords } from './data.ts';
import { EntryCard } from './entry-card.tsx';
import { ConditionsEditor, FieldChoice } from './field-choice.tsx';
import type { FieldUse } from './synced-fields.ts';

type EntryProps<T> = {
  entry: T;
  /** Where the service's problems name it. */
  path: string;
  error: ApiError | undefined;
  onChange: (entry: T) => void;
  onRemove: () => void;
};

/** The fields of the people, and what they mean. */
export function PeopleEntry({ entry, path, error, onChange, onRemove }: EntryProps<People>) {
  const { recordType, emailField, customerField, conditions } = entry;
  const problem = (name: string): string | undefined => findProblem(error, `${path}.${name}`);
  return (
    <EntryCard
      title={recordType}
      about={`Addresses in ${emailField}, customer in ${customerField}`}
      isWrong={findProblem(error, path) !== undefined || emailField === ''}
      onRemove={onRemove}
    >
      {problem('recordType') !== undefined && <p class="note bad">{problem('recordType')}</p>}
      <FieldChoice
        label="Field of the address"
        hint="It may hold several addresses."
        use="address"
        value={emailField}
        problem={problem('emailField')}
        recordType={recordType}
        onChange={(value) => onChange({ ...entry, emailField: value })}
      />
      <FieldChoice
        label="Field of the customer"
        use="id"
        first={[['id', 'The record is the customer (id)']]}
        value={customerField}
        problem={problem('customerField')}
        recordType={recordType}
        onChange={(value) => onChange({ ...entry, customerField: value })}
      />
      <ConditionsEditor
        recordType={recordType}
        conditions={conditions}
        path={`${path}.conditions`}
        error={error}
        onChange={(changed) => onChange({ ...entry, conditions: changed })}
      />
    </EntryCard>
  );
}

export const roles: Readonly<Record<ShownRecords['role'], string>> = {
  invoice: 'Invoices',
  credit: 'Credit notes',
  payment: 'Payments',
  refund: 'Refunds',
  journal: 'Journal entries',
  other: 'Something else',
};

type Meaning = keyof ShownRecords['fields'];
export const meanings: readonly (readonly [name: Meaning, label: string, use: FieldUse])[] = [
  ['number', 'Number', 'id'],
  ['date', 'Date', 'date'],
  ['dueDate', 'Due date', 'date'],
  ['amount', 'Amount', 'amount'],
  ['amountDue', 'Amount due', 'amount'],
  ['currency', 'Currency', 'id'],
  ['status', 'Status', 'id'],
];

/** Without a value the meaning is not there. */
function withMeaning(fields: ShownRecords['fields'], name: Meaning, value: string): ShownRecords['fields'] {
  const { [name]: _, ...others } = fields;
  return value === '' ? others : { ...others, [name]: value };
}

function MeaningFields({ entry, path, error, onChange }: Omit<EntryProps<ShownRecords>, 'onRemove'>) {
  const { recordType, fields } = entry;
  return (
    <div class="meanings">
      {meanings.map(([name, label, use]) => (
        <FieldChoice
          key={name}
          label={label}
          use={use}
          first={[['', 'None']]}
          value={fields[name] ?? ''}
          problem={findProblem(error, `${path}.fields.${name}`)}
          recordType={recordType}
          onChange={(value) => onChange({ ...entry, fields: withMeaning(fields, name, value) })}
        />
      ))}
    </div>
  );
}

/** The fields of shown records, and what they mean. */
export function RecordsEntry({ entry, path, error, onChange, onRemove }: EntryProps<ShownRecords>) {
  const { recordType, customerField, role, fields, conditions } = entry;
  const problem = (name: string): string | undefined => findProblem(error, `${path}.${name}`);
  const named = Object.keys(fields).length;
  return (
    <EntryCard
      title={recordType}
      about={`${roles[role]}, customer in ${customerField}, ${named} of ${meanings.length} fields named`}
      isWrong={findProblem(error, path) !== undefined || customerField === ''}
      onRemove={onRemove}
    >
      {problem('recordType') !== undefined && <p class="note bad">{problem('recordType')}</p>}
      <FieldChoice
        label="Field of the customer"
        use="id"
        value={customerField}
        problem={problem('customerField')}
        recordType={recordType}
        onChange={(value) => onChange({ ...entry, customerField: value })}
      />
      <Select
        label="What the records are"
        value={role}
        options={Object.entries(roles)}
        problem={problem('role')}
        onChange={(value) => onChange({ ...entry, role: value as ShownRecords['role'] })}
      />
      <MeaningFields entry={entry} path={path} error={error} onChange={onChange} />
      <ConditionsEditor
        recordType={recordType}
        conditions={conditions}
        path={`${path}.conditions`}
        error={error}
        onChange={(changed) => onChange({ ...entry, conditions: changed })}
      />
    </EntryCard>
  );
}
