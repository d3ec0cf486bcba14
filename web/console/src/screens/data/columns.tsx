import { useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { useAction } from '../../parts/dialog.tsx';
import { Check, Field, Form } from '../../parts/form.tsx';
import { show } from './address.ts';
import type { Endpoint } from './endpoint.ts';

/** From this number of fields on there is a search. */
const minSearched = 12;

const toggled = (names: readonly string[], name: string): readonly string[] =>
  names.includes(name) ? names.filter((one) => one !== name) : [...names, name];

/**
 * Chooses the columns of the list, and those that stay at its left edge. They are shown in the order of the
 * version, the pinned ones first.
 */
export function Columns({
  endpoint: { fields },
  columns,
  pinned: pinnedBefore,
  setPinned: keepPinned,
  close,
}: {
  endpoint: Endpoint;
  columns: readonly string[];
  pinned: readonly string[];
  setPinned: (pinned: readonly string[]) => void;
  close: () => void;
}) {
  const [chosen, setChosen] = useState(columns);
  const [pinned, setPinned] = useState(pinnedBefore);
  const [text, setText] = useState('');
  const names = fields.map(({ name }) => name);
  const action = useAction(async () => {
    keepPinned(pinned);
    show({ columns: names.filter((name) => chosen.includes(name)).join() });
    close();
  });
  const choose = (label: string, next: readonly string[]) => (
    <button type="button" onClick={() => setChosen(next)}>
      {label}
    </button>
  );
  const found = fields.filter(({ name, description }) =>
    `${name} ${description}`.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <Form
      action={action}
      label={chosen.length === 0 ? 'Show the usual columns' : `Show ${formatCount(chosen.length, 'column')}`}
      secondary={
        <>
          {choose('All', names)}
          {choose('None', [])}
        </>
      }
    >
      <p class="fine">A pinned column stays at the left edge while the others are scrolled.</p>
      {fields.length >= minSearched && (
        <Field label="Find a field" type="search" value={text} onChange={setText} />
      )}
      <Fields fields={found} chosen={chosen} setChosen={setChosen} pinned={pinned} setPinned={setPinned} />
    </Form>
  );
}

type FieldsProps = {
  fields: Endpoint['fields'];
  chosen: readonly string[];
  setChosen: (chosen: readonly string[]) => void;
  pinned: readonly string[];
  setPinned: (pinned: readonly string[]) => void;
};

const Fields = ({ fields, chosen, setChosen, pinned, setPinned }: FieldsProps) => (
  <fieldset class="rows">
    <legend>Fields</legend>
    <div class="data-columns">
      {fields.map(({ name, description }) => (
        <div key={name}>
          <Check
            label={name}
            hint={description || undefined}
            checked={chosen.includes(name)}
            onChange={() => setChosen(toggled(chosen, name))}
          />
          {chosen.includes(name) && (
            <button
              type="button"
              class="link"
              aria-pressed={pinned.includes(name)}
              aria-label={`Pin ${name}`}
              onClick={() => setPinned(toggled(pinned, name))}
            >
              {pinned.includes(name) ? 'Pinned' : 'Pin'}
            </button>
          )}
        </div>
      ))}
    </div>
  </fieldset>
);
