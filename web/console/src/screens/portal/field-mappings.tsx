// How the portal labels and formats the fields of a record type.
import { api, type Item } from '../../api.ts';
import { formatNumber } from '../../format.ts';
import { ageColumn, List, listQuery } from '../../parts/list.tsx';
import { FormButton } from '../../parts/record-form.tsx';
import { invalidate, useGet } from '../../query.ts';
import { may } from '../../session.ts';
import { RemoveButton } from './objects.tsx';

type Mapping = Item<'/portal/field-mappings'>;
type Field = Mapping['fields'][number];
type Format = NonNullable<Field['format']>;

const refresh = (): Promise<void> => invalidate('/portal/field-mappings');

/** A format as one text: `number 2`, `currency EUR 2`, `date medium`. */
const formatText = (format: Readonly<Record<string, string | number>> | null): string =>
  ['type', 'currency', 'digits', 'style'].flatMap((part) => format?.[part] ?? []).join(' ');

function parseFormat(text: string): Format | null {
  const [type = '', first = '', second = '2'] = text.trim().split(/\s+/);
  if (type === '') return null;
  if (type === 'number') return { type, digits: Number(first) };
  if (type === 'currency') return { type, currency: first, digits: Number(second) };
  if (type === 'date' || type === 'date-time') return { type, style: (first || 'medium') as 'medium' };
  // Another word is refused by the service, which says what is allowed.
  return { type: type as 'text' };
}
const known = [
  'text',
  'number 0',
  'number 2',
  'currency EUR 2',
  'date medium',
  'date iso',
  'date-time short',
  'yes-no',
];

const fieldsSpec = {
  name: 'fields',
  label: 'Fields, in the order of display',
  list: {
    item: 'field',
    columns: [
      { name: 'source', label: 'Field' },
      { name: 'label', label: 'Label' },
      { name: 'format', label: 'Format', known },
      {
        name: 'visible',
        label: 'Shown',
        options: [
          ['yes', 'Shown'],
          ['no', 'Hidden'],
        ],
      },
    ],
  },
} as const;
const newFields = [{ name: 'recordType', label: 'Record type', required: true }, fieldsSpec] as const;

const toRow = ({ source, label, format, visible }: Field) => ({
  source,
  label,
  format: formatText(format),
  visible: visible ? 'yes' : 'no',
});
const toFields = (text: string): Omit<Field, 'position'>[] =>
  (JSON.parse(text || '[]') as Readonly<Record<'source' | 'label' | 'format' | 'visible', string>>[]).map(
    ({ source, label, format, visible }) => ({
      source,
      label,
      format: parseFormat(format),
      visible: visible !== 'no',
    }),
  );

const NewMapping = () => (
  <FormButton
    label="New field mapping"
    action="Create mapping"
    fields={newFields}
    save={({ recordType, fields }) =>
      api.POST('/portal/field-mappings', { body: { recordType, fields: toFields(fields) } }).then(refresh)
    }
  />
);

function MappingActions({ mapping: { id, recordType, fields } }: { mapping: Mapping }) {
  const params = { path: { id } };
  return (
    <>
      {may('portal:update') && (
        <FormButton
          label="Edit"
          kind="link"
          title={`Fields of ${recordType}`}
          action="Save mapping"
          fields={[fieldsSpec]}
          initial={{ fields: JSON.stringify(fields.map(toRow)) }}
          save={(values) =>
            api
              .PATCH('/portal/field-mappings/{id}', { params, body: { fields: toFields(values.fields) } })
              .then(refresh)
          }
        />
      )}
      {may('portal:delete') && (
        <RemoveButton
          what="mapping"
          name={`the mapping of ${recordType}`}
          list="/portal/field-mappings"
          id={id}
        >
          The portal then shows the fields of {recordType} under their own names.
        </RemoveButton>
      )}
    </>
  );
}

/** The tab of field mappings. */
export const FieldMappings = () => (
  <div class="stack">
    <div>{may('portal:create') && <NewMapping />}</div>
    <List
      label="Field mappings"
      read={useGet('/portal/field-mappings', { query: listQuery() })}
      next="Without one, the portal shows fields under their own names."
      columns={[
        { title: 'Record type', cell: ({ recordType }) => <code>{recordType}</code> },
        { title: 'Fields', align: 'end', cell: ({ fields }) => formatNumber(fields.length) },
        { title: 'Problems', cell: ({ problems }) => problems.map(({ message }) => message).join(' ') },
        ageColumn('Changed', 'updatedAt'),
      ]}
      actions={(mapping) => <MappingActions mapping={mapping} />}
    />
  </div>
);
