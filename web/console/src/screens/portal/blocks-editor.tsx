// Edits the blocks of a portal page: one card per block, in their order on the page.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Answer } from '../../api.ts';
import { Field, Select } from '../../parts/form.tsx';
import { type Options, withValue } from './targets.ts';

export type Block = Answer<'/portal/pages/{id}'>['blocks'][number];
type Kind = Block['type'];
type Values = Readonly<Record<string, unknown>>;

/** Each kind with its name and what a new block of it starts with: the fields to edit, in their order. */
const kinds: Readonly<Record<Kind, readonly [name: string, blank: Values]>> = {
  heading: ['Heading', { text: '', level: 2 }],
  text: ['Text', { markdown: '' }],
  view: ['View', { viewId: '', title: null, pageSize: 25 }],
  'record-list': ['Records', { recordType: '', title: null, pageSize: 25 }],
  link: ['Link', { label: '', url: '' }],
  image: ['Image', { url: '', alt: '' }],
};
const options = Object.entries(kinds).map(([kind, [name]]) => [kind, name] as const);

const labels: Readonly<Record<string, string>> = {
  text: 'Text',
  level: 'Level, 1 to 3',
  markdown: 'Markdown',
  title: 'Title',
  pageSize: 'Records at a time',
  recordType: 'Record type',
  viewId: 'View',
  label: 'Label',
  url: 'Address (https)',
  alt: 'What it shows',
};

/** What blocks can show: fields of these names are choices. */
type BlockChoices = { readonly viewId: Options; readonly recordType: Options };

const choiceTexts: Readonly<Record<keyof BlockChoices, readonly [first: string, hint: string]>> = {
  viewId: ['Choose a view', 'One that everyone in the organization sees.'],
  recordType: ['Choose a record type', 'One that the portal shows.'],
};
const isChoice = (name: string): name is keyof BlockChoices => Object.hasOwn(choiceTexts, name);
type CardProps = {
  block: Block;
  index: number;
  count: number;
  choices: BlockChoices;
  onChange: (block: Block) => void;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
};

function BlockFields({ block, choices, onChange }: Pick<CardProps, 'block' | 'choices' | 'onChange'>) {
  const values: Values = block;
  return Object.entries(kinds[block.type][1]).map(([name, blank]) => {
    const value = String(values[name] ?? '');
    const set = (text: string): void =>
      onChange({
        ...block,
        [name]: typeof blank === 'number' ? Number(text) : text === '' ? blank : text,
      } as Block);
    if (isChoice(name)) {
      const [first, hint] = choiceTexts[name];
      return (
        <Select
          key={name}
          label={labels[name] ?? name}
          value={value}
          onChange={set}
          options={withValue(choices[name], value, first)}
          hint={hint}
        />
      );
    }
    return (
      <Field
        key={name}
        label={labels[name] ?? name}
        value={value}
        onChange={set}
        required={blank !== null && name !== 'alt'}
        type={typeof blank === 'number' ? 'number' : 'text'}
        rows={name === 'markdown' ? 5 : undefined}
      />
    );
  });
}

function BlockCard({ block, index, count, choices, onChange, onMove, onRemove }: CardProps) {
  const [name] = kinds[block.type];
  const actions = [
    ['Move up', index === 0, () => onMove(-1)],
    ['Move down', index === count - 1, () => onMove(1)],
    ['Remove', false, onRemove],
  ] as const;
  return (
    <section class="card stack block" aria-label={`Block ${index + 1}: ${name}`} tabIndex={-1}>
      <header class="row">
        <h3>
          {index + 1}. {name}
        </h3>
        {actions.map(([label, disabled, run]) => (
          <button key={label} type="button" class="link" disabled={disabled} onClick={run}>
            {label}
          </button>
        ))}
      </header>
      <BlockFields block={block} choices={choices} onChange={onChange} />
    </section>
  );
}

type EditorProps = {
  blocks: readonly Block[];
  choices: BlockChoices;
  onChange: (blocks: Block[]) => void;
};

export function BlocksEditor({ blocks, choices, onChange }: EditorProps) {
  const [kind, setKind] = useState<string>('text');
  const list = useRef<HTMLDivElement>(null);
  const focused = useRef(-1);
  useEffect(() => {
    // The keyboard follows a block that was added or moved.
    list.current?.querySelectorAll<HTMLElement>('.block')[focused.current]?.focus();
    focused.current = -1;
  });
  const change = (next: Block[], focus: number): void => {
    focused.current = Math.min(focus, next.length - 1);
    onChange(next);
  };
  return (
    <div class="stack" ref={list}>
      {blocks.map((block, index) => {
        const rest = blocks.toSpliced(index, 1);
        return (
          <BlockCard
            // Blocks have no identity but their place.
            key={`${index} ${block.type}`}
            block={block}
            index={index}
            count={blocks.length}
            choices={choices}
            onChange={(changed) => onChange(blocks.with(index, changed))}
            onMove={(by) => change(rest.toSpliced(index + by, 0, block), index + by)}
            onRemove={() => change(rest, index)}
          />
        );
      })}
      <div class="row add-block">
        <Select label="Kind of block" value={kind} onChange={setKind} options={options} />
        <button
          type="button"
          onClick={() =>
            change([...blocks, { type: kind, ...kinds[kind as Kind][1] } as Block], blocks.length)
          }
        >
          Add block
        </button>
      </div>
    </div>
  );
}
