import { useState } from 'preact/hooks';
import { useAction } from '../../parts/dialog.tsx';
import { Field, Form, Select } from '../../parts/form.tsx';
import { SearchFilter } from '../../parts/list.tsx';
import { DialogButton } from '../../parts/record-form.tsx';
import { type Condition, type State, show, toConditions, withFilter, without } from './address.ts';
import { type Endpoint, inferType, operatorWords, type Types } from './endpoint.ts';

type BarProps = {
  endpoint: Endpoint;
  state: State;
  types: Types;
  /** Fields that the person sees masked, and so can't filter by. */
  masked: ReadonlySet<string>;
  /** Values on the page, offered while typing. */
  listValues: (field: string) => readonly string[];
};

/** Search and filters that the version declares, and those in use. */
export function FilterBar(props: BarProps) {
  const { endpoint, types } = props;
  const { filters, q } = props.state;
  return (
    <search aria-label="Filter records" class="filters">
      {endpoint.search !== undefined && (
        <SearchFilter label={`Search in ${endpoint.search.join(', ')}`} min={3} />
      )}
      {filters.length > 0 && (
        <ul class="data-chips" aria-label="Filters in use">
          {toConditions(filters).map((condition) => {
            const text = describeCondition(condition, types);
            return (
              <li key={text} class="data-chip">
                {text}
                <button
                  type="button"
                  class="plain"
                  aria-label={`Remove the filter ${text}`}
                  onClick={() => {
                    show({ filter: without(filters, condition) });
                    document.querySelector<HTMLElement>('#add-filter button')?.focus();
                  }}
                >
                  ✕
                </button>
              </li>
            );
          })}
        </ul>
      )}
      {endpoint.filters.length > 0 && (
        <span id="add-filter">
          <DialogButton label="Add a filter">
            {(close) => <FilterForm {...props} close={close} />}
          </DialogButton>
        </span>
      )}
      {(filters.length > 0 || q !== '') && (
        <button type="button" class="link" onClick={() => show({ filter: null, q: null })}>
          Clear all
        </button>
      )}
    </search>
  );
}

function describeCondition({ field, operator, values }: Condition, types: Types): string {
  if (operator === 'null') return `${field} ${values[0] === 'false' ? 'has a value' : 'is empty'}`;
  return `${field} ${operatorWords(operator, types.get(field))} ${values.join(operator === 'not' ? ' and not ' : ' or ')}`;
}

const truths = [
  ['true', 'true'],
  ['false', 'false'],
] as const;
const presence = [
  ['true', 'yes'],
  ['false', 'no, it has a value'],
] as const;

function FilterForm({ endpoint, types, masked, listValues, state, close }: BarProps & { close: () => void }) {
  const declared = endpoint.filters.filter(({ field }) => !masked.has(field));
  const [wanted, setWanted] = useState({ field: declared[0]?.field ?? '', operator: '', value: '' });
  const { field, value } = wanted;
  const operators: readonly string[] = declared.find((one) => one.field === field)?.operators ?? [];
  const operator = operators.includes(wanted.operator) ? wanted.operator : (operators[0] ?? 'eq');
  const type = inferType(field, operators, types);
  const choices = operator === 'null' ? presence : type === 'boolean' ? truths : undefined;
  const setValue = (next: string): void => setWanted({ ...wanted, value: next });
  const action = useAction(async () => {
    show({
      filter: withFilter(state.filters, {
        field,
        operator,
        value: value || (choices === undefined ? '' : 'true'),
      }),
    });
    close();
  });
  return (
    <Form action={action} label="Add">
      <Select
        label="Field"
        value={field}
        onChange={(next) => setWanted({ field: next, operator, value: '' })}
        options={declared.map((one) => [one.field, one.field])}
      />
      <Select
        label="Condition"
        value={operator}
        onChange={(next) => setWanted({ field, operator: next, value: '' })}
        options={operators.map((one) => [one, operatorWords(one, type)])}
      />
      {choices === undefined ? (
        <Field
          label="Value"
          value={value}
          onChange={setValue}
          required
          type={type === 'date' || type === 'time' ? 'date' : 'text'}
          hint={type === 'time' && 'The whole day, in UTC'}
          options={type === 'text' ? listValues(field) : undefined}
        />
      ) : (
        <Select label="Value" value={value || 'true'} onChange={setValue} options={choices} />
      )}
    </Form>
  );
}
