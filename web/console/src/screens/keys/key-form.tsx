// The form of a key, and the part of it that forms of tokens have too.
import { useState } from 'preact/hooks';
import { type FieldSpec, RecordForm, splitList } from '../../parts/record-form.tsx';
import { may } from '../../session.ts';
import { filterLiving, listResources, useVersions, type Version } from '../../versions.ts';
import { findLookup } from './lookup.ts';
import { RecordPicker } from './record-picker.tsx';
import { type Key, scopeWords } from './scope-words.ts';
import {
  isLimited,
  listScopable,
  parseRows,
  type RowTexts,
  type ScopeTexts,
  toScopes,
  toTexts,
} from './scopes.ts';

type Values = ScopeTexts & { readonly name: string; readonly expires: string; readonly date: string };

/** Limits the records of `versions` that are read; `resources` are those that may be. */
export const rowFields = (
  versions: readonly Version[],
  resources = listResources(versions),
): FieldSpec<keyof RowTexts>[] => [
  {
    name: 'rows',
    label: 'Rows',
    hint: 'A record is read when all conditions of its resource hold.',
    list: {
      item: 'condition',
      columns: [
        { name: 'resource', label: 'Resource', listNames: () => resources },
        { name: 'field', label: 'Field', listNames: ({ resource }) => listScopable(versions, resource) },
        {
          name: 'values',
          label: 'Values',
          edit: ({ row, ...cell }) => {
            const lookup = findLookup(versions, row['resource'], row['field']);
            return lookup === undefined ? null : <RecordPicker {...cell} lookup={lookup} />;
          },
        },
      ],
    },
    when: ({ rows }) => resources.length > 0 || parseRows(rows).length > 0,
  },
  {
    name: 'others',
    kind: 'check',
    label: 'Resources without a condition are read whole',
    hint: "Otherwise they can't be read.",
    when: ({ rows }) => parseRows(rows).length > 0,
  },
];

const withChosen = (names: readonly string[], chosen: readonly string[]): string[] => [
  ...new Set([...names, ...chosen]),
];

const expiryFields: FieldSpec<keyof Values>[] = [
  {
    name: 'expires',
    label: 'Expires',
    options: [
      ['', 'Never'],
      ['30', 'In 30 days'],
      ['90', 'In 90 days'],
      ['365', 'In a year'],
      ['date', 'On a date'],
    ],
  },
  {
    name: 'date',
    kind: 'date',
    label: 'Last day',
    required: true,
    when: ({ expires }) => expires === 'date',
  },
];

function createFields(
  known: readonly Version[],
  values: Values,
  limited: boolean,
): FieldSpec<keyof Values>[] {
  const [versions, resources] = [splitList(values.versions), splitList(values.resources)];
  const living = filterLiving(known);
  const chosen = filterLiving(known, versions);
  return [
    {
      name: 'name',
      label: 'Name',
      required: true,
      hint: 'The program that will use it, such as “Partner portal”',
    },
    {
      name: 'versions',
      label: 'Versions',
      all: 'All, and later ones',
      choices: withChosen(
        living.map(({ version }) => version),
        versions,
      ),
    },
    {
      name: 'resources',
      label: 'Resources',
      all: 'All, and later ones',
      choices: withChosen(listResources(chosen), resources),
    },
    ...rowFields(chosen, resources.length === 0 ? undefined : resources),
    {
      name: 'unmasked',
      kind: 'check',
      label: 'Masked fields as they are',
      hint: 'Otherwise they are read masked.',
      when: () => may('unmasked:read'),
    },
    {
      name: 'access',
      label: 'Management interface',
      options: [
        ['none', 'None: it reads records only'],
        ['read', 'Read: it also sees the settings that you may see'],
        ['write', 'Read and write: it may do what you may do'],
      ],
      when: () => !limited,
    },
    ...expiryFields,
  ];
}

const empty: Values = {
  name: '',
  versions: '',
  resources: '',
  rows: '',
  others: '',
  unmasked: '',
  access: 'none',
  expires: '',
  date: '',
};

const toValues = ({ name, scopes, expiresAt }: Key): Values => ({
  ...empty,
  ...toTexts(scopes),
  name,
  // Swedish dates are those of inputs.
  ...(expiresAt !== null && { expires: 'date', date: new Date(expiresAt).toLocaleDateString('sv') }),
});

const dayMs = 86_400_000;

/** The instant as the interface takes it; a date ends with its day in the viewer's zone. */
function toInstant({ expires, date }: Values): string | null {
  if (expires === '') return null;
  return new Date(
    expires === 'date' ? `${date}T23:59:59` : Date.now() + Number(expires) * dayMs,
  ).toISOString();
}

type KeyChange = { name: string; expiresAt?: string | null; scopes?: ReturnType<typeof toScopes> };
type KeyFormProps = { apiKey?: Key; label: string; save: (change: KeyChange) => Promise<unknown> };

/** Makes a key, or changes `apiKey`. Saves what was changed only. */
export function KeyForm({ apiKey, label, save }: KeyFormProps) {
  const versions = useVersions();
  const [initial] = useState(apiKey === undefined ? empty : toValues(apiKey));
  const [values, setValues] = useState(initial);
  const limited = isLimited(values, apiKey?.scopes);
  const isChanged = (...names: readonly (keyof Values)[]): boolean =>
    names.some((name) => values[name] !== initial[name]);
  return (
    <RecordForm
      fields={createFields(versions, values, limited)}
      initial={initial}
      onChange={setValues}
      label={label}
      focusFirst={apiKey === undefined}
      save={() =>
        save({
          name: values.name,
          ...(isChanged('expires', 'date') && { expiresAt: toInstant(values) }),
          ...(isChanged('versions', 'resources', 'rows', 'others', 'unmasked', 'access') && {
            scopes: toScopes(values, apiKey?.scopes),
          }),
        })
      }
    >
      <p class="note">
        {scopeWords({ fields: null, ...apiKey?.scopes, ...toScopes(values, apiKey?.scopes) })}.
        {limited && " Restricted to records: it can't use the management interface."}
      </p>
    </RecordForm>
  );
}
