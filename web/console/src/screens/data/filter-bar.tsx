// Search and filters that the version declares, as chips: those in use, which can be changed and removed, and
// some that can be added.
import { useState } from 'preact/hooks';
import { formatList } from '../../format.ts';
import { Field } from '../../parts/form.tsx';
import { SearchFilter } from '../../parts/list.tsx';
import { Popover } from '../../parts/popover.tsx';
import { type Condition, show, toConditions, withFilters } from './address.ts';
import { type Endpoint, operatorWords, type Types } from './endpoint.ts';
import { FilterEditor, type FilterProps } from './filter-editor.tsx';

/** Filters that are offered next to those in use. */
const maxOffered = 4;
/** Fields without a filter that are named. */
const maxNamed = 6;
/** From this number of fields on there is a search. */
const minSearched = 9;

/** Fields that have few values come first, as far as their operators say so; then dates. */
const rank = ({ operators }: Endpoint['filters'][number]): number =>
  operators.includes('after') ? 1 : operators.some((one) => one === 'gt' || one === 'contains') ? 2 : 0;

const focusAdd = (): void => document.querySelector<HTMLElement>('#add-filter button')?.focus();

export function FilterBar(props: FilterProps) {
  const { endpoint, state, masked } = props;
  const { filters, q } = state;
  const declared = endpoint.filters.map(({ field }) => field).filter((field) => !masked.has(field));
  const offered = endpoint.filters
    .filter(({ field }) => declared.includes(field) && !filters.some((one) => one.field === field))
    .sort((one, other) => rank(one) - rank(other))
    .slice(0, maxOffered);
  return (
    <search aria-label="Filter records" class="filters">
      {endpoint.search !== undefined && (
        <SearchFilter label={`Search in ${endpoint.search.join(', ')}`} min={3} />
      )}
      {filters.length > 0 && (
        <ul class="data-chips" aria-label="Filters in use">
          {toConditions(filters).map((condition) => (
            <Chip key={`${condition.field} ${condition.operator}`} {...props} condition={condition} />
          ))}
        </ul>
      )}
      {offered.map(({ field }) => (
        <Popover key={field} label={field} title={`Filter by ${field}`} kind="data-offer">
          {(close) => <FilterEditor {...props} field={field} close={close} />}
        </Popover>
      ))}
      {declared.length > 0 && (
        <span id="add-filter">
          <Popover label="Add a filter">
            {(close) => <ChooseField {...props} fields={declared} close={close} />}
          </Popover>
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

function Chip(props: FilterProps & { condition: Condition }) {
  const { condition, state, types } = props;
  const text = describeCondition(condition, types);
  return (
    <li class="data-chip">
      <Popover label={text} title={`Filter by ${condition.field}`} kind="plain">
        {(close) => <FilterEditor {...props} field={condition.field} condition={condition} close={close} />}
      </Popover>
      <button
        type="button"
        class="plain"
        aria-label={`Remove the filter ${text}`}
        onClick={() => {
          show({ filter: withFilters(state.filters, condition, []) });
          focusAdd();
        }}
      >
        ✕
      </button>
    </li>
  );
}

function describeCondition({ field, operator, values }: Condition, types: Types): string {
  if (operator === 'null') return `${field} ${values[0] === 'false' ? 'has a value' : 'is empty'}`;
  return `${field} ${operatorWords(operator, types.get(field))} ${values.join(operator === 'not' ? ' and not ' : ' or ')}`;
}

/** Any of the fields, and then its filter. */
function ChooseField(props: FilterProps & { fields: readonly string[]; close: () => void }) {
  const [field, setField] = useState<string>();
  const [text, setText] = useState('');
  if (field !== undefined) return <FilterEditor {...props} field={field} />;
  const isFound = (name: string): boolean => name.toLowerCase().includes(text.toLowerCase());
  const others = props.endpoint.fields.map(({ name }) => name).filter((name) => !props.fields.includes(name));
  return (
    <div class="stack">
      {props.fields.length >= minSearched && (
        <Field label="Find a field" type="search" value={text} onChange={setText} />
      )}
      <ul class="menu" aria-label="Fields">
        {props.fields.filter(isFound).map((name) => (
          <li key={name}>
            <button type="button" onClick={() => setField(name)}>
              {name}
            </button>
          </li>
        ))}
      </ul>
      {others.some(isFound) && (
        <p class="fine">
          {props.version} has no filter for {formatList(others.filter(isFound), maxNamed)}. A later version
          can declare one.
        </p>
      )}
    </div>
  );
}
