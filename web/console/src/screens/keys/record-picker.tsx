// Chooses records by their names: an input with a list of what is found, and what was chosen before it. A
// value that isn't found can be entered as it is.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Problem } from '../../parts/problem.tsx';
import { type Found, type Lookup, useFound } from './lookup.ts';
import { useSearch } from './use-search.ts';

const splitValues = (text: string): string[] => text.split(',').flatMap((value) => value.trim() || []);

type PickerProps = {
  label: string;
  lookup: Lookup;
  /** The chosen values, separated by commas. */
  value: string;
  onChange: (value: string) => void;
  /** One value at most. */
  single?: boolean;
};

export function RecordPicker({ label, lookup, value, onChange, single = false }: PickerProps) {
  const [known, setKnown] = useState<readonly Found[]>([]);
  const input = useRef<HTMLInputElement>(null);
  const chosen = splitValues(value);
  const add = (added: Found): void => {
    setKnown([...known, added]);
    onChange([...new Set(single ? [added.id] : [...chosen, ...splitValues(added.id)])].join(', '));
  };
  const remove = (id: string): void => {
    onChange(chosen.filter((one) => one !== id).join(', '));
    input.current?.focus();
  };
  return (
    <div class="picker">
      {chosen.length > 0 && (
        <Chosen label={label} lookup={lookup} chosen={chosen} known={known} onRemove={remove} />
      )}
      <Search
        key={`${lookup.place.id} ${lookup.resource} ${lookup.id}`}
        {...{ label, lookup, input, onChoose: add }}
        onBack={() => chosen.length > 0 && remove(chosen.at(-1) ?? '')}
      />
    </div>
  );
}

type ChosenProps = {
  label: string;
  lookup: Lookup;
  chosen: readonly string[];
  known: readonly Found[];
  onRemove: (id: string) => void;
};

/** The chosen records by name, as far as their names are known or can be read by id. */
function Chosen({ label, lookup, chosen, known, onRemove }: ChosenProps) {
  const unknown = chosen.filter((id) => !known.some((one) => one.id === id)).slice(0, lookup.pageSize);
  const isById = lookup.id === 'id' && lookup.names.length > 0 && unknown.length > 0;
  const { found = [] } = useFound(lookup, isById ? unknown.map((id) => ['id', id] as const) : null);
  const findName = (id: string): string => [...known, ...found].find((one) => one.id === id)?.name ?? '';
  return (
    <ul class="picked" aria-label={`Chosen ${label}`}>
      {chosen.map((id) => (
        <li key={id}>
          <span>
            {findName(id)} <code>{id}</code>
          </span>
          <button
            type="button"
            class="plain"
            aria-label={`Remove ${findName(id) || id}`}
            onClick={() => onRemove(id)}
          >
            ✕
          </button>
        </li>
      ))}
    </ul>
  );
}

type SearchProps = {
  label: string;
  lookup: Lookup;
  input: { current: HTMLInputElement | null };
  onChoose: (found: Found) => void;
  /** Backspace in the empty input. */
  onBack: () => void;
};

function Search({ label, lookup, input, onChoose, onBack }: SearchProps) {
  const id = useId();
  const { text, open, options, active, status, error, setText, setOpen, choose, keys } = useSearch(
    lookup,
    onChoose,
  );
  useEffect(
    () => input.current?.setCustomValidity(text.trim() === '' ? '' : 'Choose one of the list first.'),
    [text],
  );
  return (
    <div class="picker-search">
      <input
        ref={input}
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={active && `${id}-${options.indexOf(active)}`}
        placeholder={`Find ${lookup.resource} by ${lookup.names.length > 0 ? 'name' : 'id'}`}
        autoComplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
        onClick={() => setOpen(true)}
        onBlur={() => setOpen(false)}
        onKeyDown={(event) => {
          if (event.key === 'Backspace' && text === '') onBack();
          if (keys[event.key] === undefined) return;
          event.preventDefault();
          keys[event.key]?.();
        }}
      />
      <Options id={id} label={`Found ${lookup.resource}`} {...{ options, active, onChoose: choose }} />
      <span role="status" class="fine">
        {status}
      </span>
      <Problem error={error} />
    </div>
  );
}

type OptionsProps = {
  id: string;
  label: string;
  options: readonly Found[];
  active: Found | undefined;
  onChoose: (found: Found) => void;
};

const Options = ({ id, label, options, active, onChoose }: OptionsProps) => (
  <div id={`${id}-list`} role="listbox" aria-label={label} hidden={options.length === 0}>
    {options.map((one, index) => (
      <button
        type="button"
        key={one.id}
        id={`${id}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={one === active}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => onChoose(one)}
      >
        {one.name} <code>{one.id}</code>
      </button>
    ))}
  </div>
);
