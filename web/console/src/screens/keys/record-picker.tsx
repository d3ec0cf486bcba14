// Chooses records by their names: an input with a list of what is found, and what was chosen before it. A
// value that isn't found can be entered as it is.
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Problem } from '../../parts/problem.tsx';
import { type Found, type Lookup, useFound } from './lookup.ts';

const splitValues = (text: string): string[] => text.split(',').flatMap((value) => value.trim() || []);

const pauseMs = 250;

/** The text once it has not changed for a moment: a search for each letter would be too many. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), pauseMs);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

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
  const [{ text, open, at }, setState] = useState({ text: '', open: false, at: 0 });
  const { options, status, error } = useOptions(lookup, text.trim(), open);
  const active = options[Math.min(at, options.length - 1)];
  useEffect(
    () => input.current?.setCustomValidity(text.trim() === '' ? '' : 'Choose one of the list first.'),
    [text],
  );
  const setOpen = (next: boolean): void => setState((last) => ({ ...last, open: next }));
  const move = (by: number): void =>
    setState({ text, open: true, at: open ? (at + options.length + by) % Math.max(1, options.length) : 0 });
  const choose = (one: Found | undefined): void => {
    if (one === undefined) return;
    onChoose(one);
    setState({ text: '', open: false, at: 0 });
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    // Enter in an empty, closed list saves the form, and Escape closes the dialog, as everywhere.
    ...((open || text !== '') && { Enter: () => choose(active) }),
    ...(open && { Escape: () => setOpen(false) }),
  };
  return (
    <div class="picker-search">
      <input
        ref={input}
        role="combobox"
        aria-label={label}
        aria-expanded={open}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={open && active !== undefined ? `${id}-${options.indexOf(active)}` : undefined}
        placeholder={`Find ${lookup.resource} by ${lookup.names.length > 0 ? 'name' : 'id'}`}
        autoComplete="off"
        spellcheck={false}
        value={text}
        onInput={(event) => setState({ text: event.currentTarget.value, open: true, at: 0 })}
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

/** What can be chosen while the list is open. */
function useOptions(lookup: Lookup, text: string, open: boolean) {
  const wanted = useSettled(text);
  const parameters = wanted === '' || lookup.search === undefined ? [] : [[lookup.search, wanted] as const];
  const { found, error } = useFound(lookup, open ? parameters : null);
  const isRead = wanted === text && (found ?? error) !== undefined;
  const options = open && isRead ? listOptions(lookup, found ?? [], wanted) : [];
  const status = open && (isRead ? options.length === 0 && 'Nothing found' : 'Searching…');
  return { options, status, error: open ? error : undefined };
}

/**
 * What was found, then the text itself as an id. Where nothing can be searched by name, what has the text of
 * the first page.
 */
function listOptions({ search }: Lookup, found: readonly Found[], text: string): Found[] {
  const has = ({ id, name }: Found): boolean => `${id} ${name}`.toLowerCase().includes(text.toLowerCase());
  const matches = search === undefined ? found.filter(has) : found;
  const isEntered = text !== '' && !matches.some(({ id }) => id === text);
  return isEntered ? [...matches, { id: text, name: 'Use the id' }] : [...matches];
}
