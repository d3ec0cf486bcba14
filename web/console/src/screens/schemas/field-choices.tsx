// Groups of checkboxes for one field: filters, functions, access.
import { Check, Checks, Select } from '../../parts/form.tsx';
import {
  type Endpoint,
  type Field,
  findAggregate,
  findGroup,
  listOperators,
  type Mask,
  type Period,
  setAggregate,
  setGroup,
  setOperators,
  setSearch,
  setSort,
} from './document.ts';
import { chooseFitting, type Sources } from './sources.ts';

type ChoicesProps<T extends string> = {
  title: string;
  hint?: string | false;
  options: readonly T[];
  chosen: readonly T[];
  onChange: (chosen: T[]) => void;
  /** What a choice is called in requests. */
  toName?: (option: T) => string;
};

/** Any of a few options, kept in their own order. What is chosen is offered in any case. */
function Choices<T extends string>({
  title,
  hint,
  options,
  chosen,
  onChange,
  toName = (option) => option,
}: ChoicesProps<T>) {
  const all = [...new Set([...options, ...chosen])];
  return (
    <Checks
      label={title}
      hint={hint || undefined}
      options={all.map((option) => ({ name: toName(option) }))}
      chosen={chosen.map((option) => toName(option))}
      onChange={(names) => onChange(all.filter((option) => names.includes(toName(option))))}
    />
  );
}

type ChoiceProps = {
  endpoint: Endpoint;
  /** The field's name as filters have it, and the type of its source. */
  path: string;
  type: string | undefined;
  isLine: boolean;
  sources: Sources | undefined;
  set: (endpoint: Endpoint) => void;
};

export const FilterChoice = ({ endpoint, path, type, isLine, sources, set }: ChoiceProps) => (
  <Choices
    title="Filters"
    hint={isLine && 'One of the lines must match.'}
    options={chooseFitting(sources, type, isLine).operators}
    chosen={listOperators(endpoint, path)}
    onChange={(next) => set(setOperators(endpoint, path, next))}
    toName={(operator) => (operator === 'eq' ? path : `${path}_${operator}`)}
  />
);

export function ListChoice({ endpoint, path, type, set }: ChoiceProps) {
  const searched = endpoint.search?.includes(path) === true;
  if (type === 'integers' || type === 'texts') return null;
  return (
    <fieldset class="rows">
      <legend>Lists</legend>
      <Check
        label="Sort by it"
        checked={endpoint.sorts.includes(path)}
        onChange={(on) => set(setSort(endpoint, path, on))}
      />
      {(type === 'text' || searched) && (
        <Check
          label="q searches in it"
          checked={searched}
          onChange={(on) => set(setSearch(endpoint, path, on))}
        />
      )}
    </fieldset>
  );
}

const periods: readonly Period[] = ['day', 'week', 'month', 'quarter', 'year'];

/** What /summary may compute of a field and group by. */
export function SummaryChoice({ endpoint, path, type, isLine, sources, set }: ChoiceProps) {
  const { currency, ...aggregate } = findAggregate(endpoint, path) ?? { field: path, functions: [] };
  const group = findGroup(endpoint, path);
  const isNumber = type === 'number' || type === 'integer';
  const byPeriod = (type === 'date' || type === 'time') && typeof group !== 'string';
  return (
    <div class="stack">
      <Choices
        title="Summary"
        options={chooseFitting(sources, type, isLine).functions}
        chosen={aggregate.functions}
        onChange={(functions) =>
          set(setAggregate(endpoint, { ...aggregate, ...(currency && { currency }), functions }))
        }
        toName={(each) => each.replace('_', ' ')}
      />
      {isNumber && aggregate.functions.length > 0 && (
        <Check
          label="No amount of money"
          hint="Computed over records of all currencies."
          checked={currency === 'none'}
          onChange={(on) => set(setAggregate(endpoint, { ...aggregate, ...(on && { currency: 'none' }) }))}
        />
      )}
      {byPeriod ? (
        <Choices
          title="Group by"
          options={periods}
          chosen={group?.periods ?? []}
          onChange={(chosen) =>
            set(setGroup(endpoint, path, chosen.length === 0 ? undefined : { field: path, periods: chosen }))
          }
        />
      ) : (
        <Check
          label="Summaries can group by it"
          checked={group !== undefined}
          onChange={(on) => set(setGroup(endpoint, path, on ? path : undefined))}
        />
      )}
    </div>
  );
}

const maskTitles: Readonly<Record<Mask, string>> = {
  hash: 'Hash',
  last4: 'Last four characters',
  year: 'Year only',
};

type AccessProps = Pick<ChoiceProps, 'sources' | 'type' | 'isLine'> & {
  field: Field;
  /** Whether row scopes can name it. */
  isScopable: boolean;
  change: (part: Partial<Field>) => void;
};

export function AccessChoice({ field, sources, type, isLine, isScopable, change }: AccessProps) {
  const { mask, tags = [], scopable = false } = field;
  const masks = new Set([...chooseFitting(sources, type, isLine).masks, ...(mask ? [mask] : [])]);
  return (
    <>
      <Choices
        title="Kind of data"
        options={['personal', 'confidential']}
        chosen={tags}
        onChange={(next) => change({ tags: next })}
      />
      <fieldset class="rows">
        <legend>Access</legend>
        {(isScopable || scopable) && (
          <Check
            label="Row scopes of keys may name it"
            checked={scopable}
            onChange={(on) => change({ scopable: on })}
          />
        )}
        <Select
          label="Mask"
          value={mask ?? ''}
          onChange={(value) => change({ mask: (value || undefined) as Mask })}
          options={[['', 'None'], ...[...masks].map((one) => [one, maskTitles[one]] as const)]}
        />
      </fieldset>
    </>
  );
}
