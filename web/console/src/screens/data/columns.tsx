import { useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { useAction } from '../../parts/dialog.tsx';
import { Checks, Field, Form } from '../../parts/form.tsx';
import { show } from './address.ts';
import type { Endpoint } from './endpoint.ts';

/** From this number of fields on there is a search. */
const minSearched = 12;

/** Chooses the columns of the list; they are shown in the order of the version. */
export function Columns({
  endpoint: { fields },
  columns,
  close,
}: {
  endpoint: Endpoint;
  columns: readonly string[];
  close: () => void;
}) {
  const [chosen, setChosen] = useState(columns);
  const [text, setText] = useState('');
  const names = fields.map(({ name }) => name);
  const action = useAction(async () => {
    show({ columns: names.filter((name) => chosen.includes(name)).join() });
    close();
  });
  const choose = (label: string, next: readonly string[]) => (
    <button type="button" onClick={() => setChosen(next)}>
      {label}
    </button>
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
      {fields.length >= minSearched && (
        <Field label="Find a field" type="search" value={text} onChange={setText} />
      )}
      <Checks
        label="Fields"
        options={fields.filter(({ name, description }) =>
          `${name} ${description}`.toLowerCase().includes(text.toLowerCase()),
        )}
        chosen={chosen}
        onChange={setChosen}
      />
    </Form>
  );
}
