// One resource of the draft: its fields as a table with a search, and the panel beside them.
import { useState } from 'preact/hooks';
import { formatCount } from '../../format.ts';
import { Field as Input, Select } from '../../parts/form.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { type Document, type Endpoint, flatFields, type Spot } from './document.ts';
import { FieldSettings } from './field-settings.tsx';
import { FieldTable } from './field-table.tsx';
import { Panel } from './panel.tsx';
import type { Placed } from './problems.ts';
import { ResourceSettings } from './resource-settings.tsx';
import { Faults, rowId } from './row-cells.tsx';
import type { Source, Sources } from './sources.ts';
import type { Validation } from './use-validation.ts';

const shows = [
  ['published', 'Published fields'],
  ['all', 'All fields'],
  ['problems', 'Fields with problems'],
] as const;
type Props = {
  id: string;
  document: Document;
  index: number;
  validation: Validation;
  change: (document: Document) => void;
};

/** How many sources are offered at once; searching finds the others. */
const maxOffered = 100;

type ToolbarProps = {
  label: string;
  text: string;
  setText: (text: string) => void;
  show: string;
  setShow: (show: string) => void;
};

/** Which fields to show. */
const Toolbar = ({ label, text, setText, show, setShow }: ToolbarProps) => (
  <div class="toolbar">
    <div class="grow">
      <Input label={`Find a field of ${label}`} type="search" value={text} onChange={setText} />
    </div>
    <Select label="Show" value={show} onChange={setShow} options={shows} />
  </div>
);

/** What the table doesn't show. */
const Rest = ({ shown, offered }: { shown: number; offered: number }) => (
  <>
    {shown + offered === 0 && <p class="muted">No field matches.</p>}
    {offered > maxOffered && <p class="fine">and {offered - maxOffered} more: search to find them</p>}
  </>
);

const focusRow = (row: Spot): void => document.getElementById(`${rowId(row)}-settings`)?.focus();

export function ResourceView({ id, document, index, validation, change }: Props) {
  const endpoint = document[index];
  const { recordType = '' } = endpoint ?? {};
  const address = endpoint && may('record:read') ? '/api-schema/{id}/sources/{recordType}' : null;
  const { data: sources, error, reload } = useGet(address, { path: { id, recordType } });
  const [text, setText] = useState('');
  const [show, setShow] = useState('published');
  const [opened, setOpened] = useState<Spot | null>(null);
  if (endpoint === undefined) return null;
  const { placed } = validation;
  const set = (next: Endpoint) => change(document.with(index, next));
  const props = { document, index, endpoint, sources, placed, change, set };
  const { shown, offered } = select(endpoint, sources, placed, text, show);
  const close = (): void => {
    if (opened !== null) focusRow(opened);
    setOpened(null);
  };
  return (
    <div class="schema-editor">
      <section aria-label={endpoint.name}>
        <Toolbar label={sources?.label ?? recordType} {...{ text, setText, show, setShow }} />
        <Count endpoint={endpoint} sources={sources} />
        <Faults messages={placed.get(index)} />
        {error?.status !== 404 && <Problem error={error} retry={() => void reload()} />}
        <FieldTable
          {...props}
          shown={shown}
          offered={offered.slice(0, maxOffered)}
          opened={opened}
          open={setOpened}
        />
        <Rest shown={shown.length} offered={offered.length} />
        <details class="schema-settings">
          <summary>Settings of {endpoint.name}</summary>
          <ResourceSettings {...props} />
        </details>
      </section>
      <aside class="card schema-panel" aria-label="About the draft">
        {opened === null ? (
          <Panel {...props} id={id} validation={validation} />
        ) : (
          <FieldSettings {...props} opened={opened} close={close} />
        )}
      </aside>
    </div>
  );
}

/** The rows to show: fields by position, and sources that aren't published. */
function select(
  endpoint: Endpoint,
  { sources = [] }: Partial<Sources> = {},
  placed: Placed,
  text: string,
  show: string,
) {
  const words = text.toLowerCase().split(/\s+/);
  const matches = (...texts: readonly (string | undefined)[]): boolean =>
    words.every((word) => texts.join(' ').toLowerCase().includes(word));
  const labels = new Map(sources.map(({ source, label }) => [source, label]));
  const shown = endpoint.fields.flatMap((field, at) => {
    const isFaulty = flatFields({ fields: [field] }).some((one) => placed.has(one.field));
    return matches(field.name, field.source, labels.get(field.source)) && (show !== 'problems' || isFaulty)
      ? [at]
      : [];
  });
  const published = new Set(endpoint.fields.map(({ source }) => source));
  const isOffered = ({ source, label }: Source): boolean => !published.has(source) && matches(label, source);
  const offers = show === 'all' || (show === 'published' && text.trim() !== '');
  return { shown, offered: offers ? sources.filter(isOffered) : [] };
}

function Count({ endpoint, sources }: { endpoint: Endpoint; sources: Sources | undefined }) {
  const published = new Set(endpoint.fields.map(({ source }) => source)).size;
  return (
    <p class="fine schema-state">
      {sources === undefined
        ? formatCount(published, 'field')
        : `${published} of ${formatCount(sources.sources.length, 'field')} published · ${formatCount(sources.total, 'record')} · ${endpoint.recordType}`}
    </p>
  );
}
