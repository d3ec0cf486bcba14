// The filter by one field: its condition, and the values that there are among the records that the other
// filters select.
import { useState } from 'preact/hooks';
import { formatCount, formatNumber } from '../../format.ts';
import { focusFirst, useAction } from '../../parts/dialog.tsx';
import { Check, Field, Form, Select } from '../../parts/form.tsx';
import { type Place, showNumber, useSummary } from '../../parts/read-records.tsx';
import { Skeleton } from '../../parts/skeleton.tsx';
import { type Condition, type Filter, type State, show, toSelection, withFilters } from './address.ts';
import { type Endpoint, inferType, operatorWords, type Types, type ValueType } from './endpoint.ts';

export type FilterProps = {
  version: string;
  place: Place;
  endpoint: Endpoint;
  state: State;
  types: Types;
  /** Fields that the person sees masked, and so can't filter by. */
  masked: ReadonlySet<string>;
};

type EditorProps = FilterProps & {
  field: string;
  /** The one that is changed. */
  condition?: Condition;
  close: () => void;
};

/** Of a field with both ends. */
const between = 'between';
/** Conditions whose values are chosen from those that there are. */
const chosen = /^(eq|not|all)$/;
const maxValues = 50;

/** A range comes first where the values have an order. */
function listOperators(declared: readonly string[], type: ValueType | undefined): readonly string[] {
  const isOrdered = type !== 'text' && declared.includes('gte') && declared.includes('lte');
  return isOrdered ? [between, ...declared] : declared;
}

const presence = [
  ['true', 'yes'],
  ['false', 'no, it has a value'],
] as const;

export function FilterEditor(props: EditorProps) {
  const { endpoint, state, types, field, condition, close } = props;
  const declared = endpoint.filters.find((one) => one.field === field)?.operators ?? [];
  const type = inferType(field, declared, types);
  const operators = listOperators(declared, type);
  const [operator, setOperator] = useState(condition?.operator ?? operators[0] ?? 'eq');
  const set = (name: string): string[] =>
    state.filters.filter((one) => one.field === field && one.operator === name).map(({ value }) => value);
  return (
    <div class="stack">
      <h2 tabIndex={-1} ref={focusFirst}>
        {field}
      </h2>
      {operators.length > 1 && (
        <Select
          label="Condition"
          value={operator}
          onChange={setOperator}
          options={operators.map((one) => [one, one === between ? 'is between' : operatorWords(one, type)])}
        />
      )}
      <Values
        {...props}
        key={operator}
        type={type}
        operator={operator}
        set={operator === between ? [set('gte')[0] ?? '', set('lte')[0] ?? ''] : set(operator)}
        apply={(added) => {
          show({ filter: withFilters(state.filters, condition, added) });
          close();
        }}
      />
    </div>
  );
}

type ValuesProps = EditorProps & {
  type: ValueType | undefined;
  operator: string;
  /** The values in use. */
  set: readonly string[];
  apply: (filters: readonly Filter[]) => void;
};

function Values(props: ValuesProps) {
  const { operator, type, types, field, set, apply } = props;
  const isKnown = types.has(field);
  if (operator === 'null') return <Presence {...props} />;
  if (operator === between) return <Range {...props} />;
  // Values of lines are no groups.
  if (chosen.test(operator) && isKnown && type !== 'date' && type !== 'time') return <Choices {...props} />;
  return (
    <OneValue
      type={type}
      value={set[0] ?? ''}
      apply={(value) => apply(value === '' ? [] : [{ field, operator, value }])}
    />
  );
}

function Presence({ field, operator, set, apply }: ValuesProps) {
  const [value, setValue] = useState(set[0] ?? 'true');
  const action = useAction(async () => apply([{ field, operator, value }]));
  return (
    <Form action={action} label="Apply">
      <Select label="Value" value={value} onChange={setValue} options={presence} />
    </Form>
  );
}

const inputType = (type: ValueType | undefined): 'date' | 'text' =>
  type === 'date' || type === 'time' ? 'date' : 'text';

function OneValue({
  type,
  value: first,
  apply,
}: {
  type: ValueType | undefined;
  value: string;
  apply: (value: string) => void;
}) {
  const [value, setValue] = useState(first);
  const action = useAction(async () => apply(value));
  return (
    <Form action={action} label="Apply">
      <Field
        label="Value"
        value={value}
        onChange={setValue}
        type={inputType(type)}
        hint={type === 'time' && 'The whole day, in UTC'}
      />
    </Form>
  );
}

/** The least and the greatest value are those of the records that the other filters select. */
function Range({ place, state, field, type, set, apply }: ValuesProps) {
  const [from, setFrom] = useState(set[0] ?? '');
  const [to, setTo] = useState(set[1] ?? '');
  const read = useSummary(place, [
    ...toSelection(withoutField(state, field)),
    ['min', field],
    ['max', field],
  ]);
  const [row] = read.data?.rows ?? [];
  const ends = [row?.[`min.${field}`], row?.[`max.${field}`]].filter((end) => typeof end === 'string');
  const shown = ends.map((end) => (type === 'number' ? showNumber(end) : end.slice(0, 10)));
  const action = useAction(async () => {
    const filters = [
      { field, operator: 'gte', value: from },
      { field, operator: 'lte', value: to },
    ];
    apply(filters.filter(({ value }) => value !== ''));
  });
  return (
    <Form action={action} label="Apply">
      <div class="data-range">
        <Field label="From" value={from} onChange={setFrom} type={inputType(type)} />
        <Field label="To" value={to} onChange={setTo} type={inputType(type)} />
      </div>
      {shown.length === 2 && (
        <p class="fine">
          There are values from {shown[0]} to {shown[1]}
          {type === 'time' && ' (UTC)'}
        </p>
      )}
    </Form>
  );
}

const withoutField = ({ filters, q }: FilterProps['state'], field: string) => ({
  q,
  filters: filters.filter((one) => one.field !== field),
});

/** The values that there are, the most frequent first, each with its number of records; or one that is typed. */
function Choices({ place, state, field, operator, set, apply }: ValuesProps) {
  const [values, setValues] = useState(set);
  const [text, setText] = useState('');
  const read = useSummary(place, [
    ...toSelection(withoutField(state, field)),
    ...Object.entries({ by: field, count: 'true', sort: '-count', limit: String(maxValues) }),
  ]);
  const counts = new Map(
    (read.data?.rows ?? [])
      .filter((row) => row[field] !== null)
      .map((row) => [String(row[field]), Number(row['count'])]),
  );
  const offered = [...new Set([...set, ...counts.keys()])].filter((value) =>
    value.toLowerCase().includes(text.toLowerCase()),
  );
  const action = useAction(async () => {
    const all = text === '' ? values : [...new Set([...values, text])];
    apply(all.map((value) => ({ field, operator, value })));
  });
  const total = read.data?.total ?? 0;
  return (
    <Form action={action} label="Apply">
      <Field
        label="Value"
        value={text}
        onChange={setText}
        hint={
          total > maxValues
            ? `The ${formatNumber(maxValues)} most frequent of ${formatCount(total, 'value')}. Type any other.`
            : 'Choose, or type one'
        }
      />
      {read.data === undefined && read.error === undefined && <Skeleton lines={3} />}
      {offered.length > 0 && (
        <fieldset class="rows">
          <legend class="visually-hidden">Values of {field}</legend>
          <div class="data-values">
            {offered.map((value) => (
              <Check
                key={value}
                label={value === '' ? '(empty text)' : value}
                hint={counts.has(value) && formatNumber(counts.get(value) ?? 0)}
                checked={values.includes(value)}
                onChange={(isOn) =>
                  setValues(isOn ? [...values, value] : values.filter((one) => one !== value))
                }
              />
            ))}
          </div>
        </fieldset>
      )}
    </Form>
  );
}
