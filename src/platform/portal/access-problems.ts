// What keeps portal settings from being used: names that aren't synced, fields whose values can't fit.

import type { Meaning } from '../../core/text/portal-terms.ts';
import { type Available, parseFilterValue } from '../../public/index.ts';
import { connectionOf } from '../../sync/index.ts';
import type { PortalSettings } from './access.schemas.ts';
import { type SourceType, sourceTypes } from './sources.ts';
import { unknownRecordTypeDetail } from './targets.ts';

type Detail = { readonly path: string; readonly code: string; readonly message: string };

const [texts, ids, numbers, dates] = [
  ['text'],
  ['text', 'integer'],
  ['number', 'integer'],
  ['date', 'time'],
] as const;
const fitting: Readonly<Record<Meaning, readonly SourceType[]>> = {
  number: ids,
  date: dates,
  dueDate: dates,
  amount: numbers,
  amountDue: numbers,
  currency: ids,
  status: ids,
};

type Entry = PortalSettings['people'][number] | PortalSettings['records'][number];

function checkField(
  types: ReadonlyMap<string, SourceType>,
  source: string,
  fits: readonly SourceType[],
  path: string,
): Detail[] {
  const type = source === 'id' ? 'text' : types.get(source);
  if (type === undefined)
    return [{ path, code: 'unknown_source', message: 'This is not a synced field of the record type' }];
  if (fits.includes(type)) return [];
  return [
    { path, code: 'type_does_not_fit', message: `The field is ${type}, and must be ${fits.join(' or ')}` },
  ];
}

function checkConditions(types: ReadonlyMap<string, SourceType>, { conditions }: Entry, path: string) {
  return conditions.flatMap(({ field, in: values }, index): Detail[] => {
    const at = `${path}.conditions[${index}]`;
    const unknown = checkField(types, field, ['text', 'integer', 'number', 'boolean', 'date'], `${at}.field`);
    const type = field === 'id' ? 'text' : types.get(field);
    if (unknown.length > 0 || type === undefined || type === 'lines') return unknown;
    return values.flatMap((value, place) => {
      const read = parseFilterValue(type, value);
      return 'value' in read ? [] : [{ path: `${at}.in[${place}]`, code: read.code, message: read.message }];
    });
  });
}

function checkEntry(
  entry: Entry,
  path: string,
  available: Available,
  check: (types: ReadonlyMap<string, SourceType>) => readonly Detail[],
): readonly Detail[] {
  const type = Object.hasOwn(available, entry.recordType) ? available[entry.recordType] : undefined;
  if (type === undefined) return [unknownRecordTypeDetail(`${path}.recordType`)];
  if (!type.hasData) {
    const message = `No complete sync of ${type.label} has been published yet`;
    return [{ path: `${path}.recordType`, code: 'not_synced', message }];
  }
  const types = sourceTypes(available, entry.recordType);
  return [
    ...checkField(types, entry.customerField, ids, `${path}.customerField`),
    ...check(types),
    ...checkConditions(types, entry, path),
  ];
}

function duplicates(records: PortalSettings['records']): Detail[] {
  return records.flatMap(({ recordType }, index) =>
    records.findIndex((other) => other.recordType === recordType) === index
      ? []
      : [
          {
            path: `records[${index}].recordType`,
            code: 'duplicate',
            message: 'Another entry shows this record type',
          },
        ],
  );
}

/** A customer's id means another customer in another account. */
function ofOtherConnections({ people, records }: PortalSettings): Detail[] {
  const entries = [
    ...people.map(({ recordType }, index) => ({ recordType, path: `people[${index}].recordType` })),
    ...records.map(({ recordType }, index) => ({ recordType, path: `records[${index}].recordType` })),
  ];
  const [first] = entries;
  return entries.flatMap(({ recordType, path }) =>
    first === undefined || connectionOf(recordType) === connectionOf(first.recordType)
      ? []
      : [{ path, code: 'other_connection', message: 'must come from the connection of the first entry' }],
  );
}

const needed = (path: 'people' | 'records', what: string): Detail => ({
  path,
  code: 'needed',
  message: `Say ${what}`,
});

/** The first 100; empty when the portal can be enabled. */
export function listProblems(settings: PortalSettings, available: Available): Detail[] {
  const { people, records, languages, defaultLanguage } = settings;
  return [
    ...(people.length === 0 ? [needed('people', 'where the addresses of the people stand')] : []),
    ...(records.length === 0 ? [needed('records', 'which records they see')] : []),
    ...people.flatMap((entry, index) =>
      checkEntry(entry, `people[${index}]`, available, (types) =>
        checkField(types, entry.emailField, texts, `people[${index}].emailField`),
      ),
    ),
    ...duplicates(records),
    ...ofOtherConnections(settings),
    ...records.flatMap((entry, index) =>
      checkEntry(entry, `records[${index}]`, available, (types) =>
        Object.entries(entry.fields).flatMap(([meaning, source]) =>
          checkField(types, source ?? '', fitting[meaning as Meaning], `records[${index}].fields.${meaning}`),
        ),
      ),
    ),
    ...(languages.includes(defaultLanguage)
      ? []
      : [{ path: 'defaultLanguage', code: 'not_offered', message: 'must be one of the languages' }]),
  ].slice(0, 100);
}
