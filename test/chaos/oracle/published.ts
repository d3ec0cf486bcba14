// The version that a company publishes for the oracle: every field of header and lines that the management
// interface offers.
import type { Answer, Api } from '../../setup/api.ts';
import { type Field, type Shape, toSource } from './account.ts';

type Offered = {
  readonly name: string;
  readonly type: string;
  readonly syncable: boolean;
  readonly fields?: readonly Offered[];
};

const isNamed = ({ type }: Offered): boolean =>
  type === 'reference' || type === 'list' || type === 'multiselect';
const isNumber = ({ type }: Offered): boolean => type === 'number' || type === 'integer';

/** Each field, and its display text and the ids of its choices where it has them. */
const toFields = (offered: readonly Offered[], prefix: string): Field[] =>
  offered
    .filter(({ name, type, syncable }) => syncable && type !== 'lines' && !(name === 'id' && prefix === 'f'))
    .flatMap((field): Omit<Field, 'name'>[] => [
      { field: field.name, isLabel: false, isNumber: isNumber(field) },
      ...(isNamed(field) ? [{ field: field.name, isLabel: true, isNumber: false }] : []),
      ...(field.type === 'multiselect'
        ? [{ field: field.name, isLabel: false, isNumber: false, isList: true as const }]
        : []),
    ])
    .map((field, index) => ({ ...field, name: `${prefix}${index}` }));

/** Rejects with an Error when the management interface doesn't offer the record type. */
export async function readShape<Name extends string>(api: Api, recordType: Name): Promise<Shape<Name>> {
  const { status, body }: Answer = await api('get', `/netsuite/metadata/${recordType}`);
  if (status !== 200) throw new Error(`${recordType} isn't offered: ${JSON.stringify(body)}`);
  const offered: readonly Offered[] = body.fields;
  const lines = offered.find(({ type }) => type === 'lines');
  return {
    recordType,
    fields: toFields(offered, 'f'),
    lineFields: lines?.syncable === true ? toFields(lines.fields ?? [], 'l') : null,
  };
}

/** Names of resources have no underscore. */
export const toResource = (recordType: string): string => recordType.toLowerCase().replaceAll('_', '-');

const defined = (field: Field) => ({
  name: field.name,
  source: toSource(field),
  description: '',
  ...(field.isList && { as: 'list' }),
});
/** An endpoint that serves all of it. */
export const toEndpoint = ({ recordType, fields, lineFields }: Shape<string>) => ({
  name: toResource(recordType),
  recordType,
  description: '',
  fields: [
    ...fields.map(defined),
    ...(lineFields === null
      ? []
      : [{ name: 'lines', source: 'lines', description: '', fields: lineFields.map(defined) }]),
  ],
  maxPageSize: 1_000,
});
