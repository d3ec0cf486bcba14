// The choice of fields of one record type, as signals: a row follows its own field alone, so that 500 rows
// stay where they are while someone types or chooses.
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { Answer } from '../../api.ts';
import { withId, withNames } from '../../names.ts';
import type { recordTypePath } from '../../parts/record-type.ts';
import { createMatcher } from './catalogue.ts';

export type RecordType = Answer<typeof recordTypePath>;
export type Field = RecordType['fields'][number];
export type Sync = Answer<'/sync-configs/{id}'>;

/** The name under which a choice that isn't saved survives a reload. */
export const keptChoice = (recordType: string): string => `fields of ${recordType}`;

export const shows = {
  all: 'All fields',
  chosen: 'Chosen',
  proposed: 'Proposed',
  custom: 'Custom',
  refused: "Can't be synced",
} as const;
export type Show = keyof typeof shows;

export type FieldChoice = {
  readonly q: { value: string };
  readonly show: { value: Show };
  /** Names of the chosen fields; the id is always among them. */
  readonly chosen: ReadonlySignal<ReadonlySet<string>>;
  readonly matches: ReadonlySignal<ReadonlySet<string>>;
  toggle(names: Iterable<string>, isChosen: boolean): void;
  /** Chooses these and no others. */
  replace(names: Iterable<string>): void;
};

const toSearchText = ({ name, label, type, target = '' }: Field): string =>
  `${label} ${name} ${type} ${target}`.toLowerCase();

export const syncableNames = (fields: readonly Field[]): string[] =>
  fields.flatMap(({ name, syncable }) => (syncable ? [name] : []));

/** As the settings of a sync name them. */
export const fieldsToRead = ({ chosen }: FieldChoice): string[] =>
  [...chosen.value].filter((name) => name !== 'id');

type Options = {
  readonly proposal: ReadonlyMap<string, string>;
  readonly initial: Iterable<string>;
  /** Called when a person changes the choice. */
  readonly onChange: (names: ReadonlySet<string>) => void;
};

export function createFieldChoice(
  fields: readonly Field[],
  { proposal, initial, onChange }: Options,
): FieldChoice {
  const texts = fields.map((field) => ({ field, text: toSearchText(field) }));
  const q = signal('');
  const show = signal<Show>('all');
  const syncable = new Set(syncableNames(fields));
  const filterSyncable = (names: Iterable<string>): ReadonlySet<string> =>
    new Set([...withId(names)].filter((name) => syncable.has(name)));
  const chosen = signal(filterSyncable(initial));
  const replace = (names: Iterable<string>): void => {
    chosen.value = filterSyncable(names);
    onChange(chosen.value);
  };
  const isShown: Readonly<Record<Show, (field: Field) => boolean>> = {
    all: () => true,
    chosen: ({ name }) => chosen.value.has(name),
    proposed: ({ name }) => proposal.has(name),
    custom: ({ custom }) => custom,
    refused: ({ syncable }) => !syncable,
  };
  const matches = computed(() => {
    const [isMatch, wanted] = [createMatcher(q.value), isShown[show.value]];
    return new Set(
      texts.filter(({ field, text }) => wanted(field) && isMatch(text)).map(({ field }) => field.name),
    );
  });
  return {
    q,
    show,
    chosen,
    matches,
    replace,
    toggle: (names, isChosen) => replace(withNames(chosen.value, names, isChosen)),
  };
}
