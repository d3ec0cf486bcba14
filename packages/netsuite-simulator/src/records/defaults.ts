// Required values of a new record, and defaults for what the body doesn't set.

import { missingValues, USER_ERRORS } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';
import type { Values, WriteBody } from './write-body.ts';

const PREFIX: Record<string, string> = {
  CustInvc: 'INV',
  CustCred: 'CM',
  CustPymt: 'PYMT',
  CustRfnd: 'REF',
  SalesOrd: 'SO',
};
const DAYS_TO_PAY = 30;

/** Throws RestError 400 that lists the missing values, or that asks for at least one line. */
export function assertRequiredValues(type: RestRecordType, values: Values, body: WriteBody): void {
  const isMissing = (column: string): boolean => (values.get(column) ?? null) === null;
  const missing = type.properties
    .filter(({ isRequired, column }) => isRequired && isMissing(column))
    .map(({ title }) => title);
  if (type.table === 'customer') {
    const names =
      values.get('isperson') === 'T'
        ? [
            ['firstname', 'First Name'],
            ['lastname', 'Last Name'],
          ]
        : [['companyname', 'Company Name']];
    missing.push(...names.flatMap(([column = '', title = '']) => (isMissing(column) ? [title] : [])));
  }
  if (type.transactionType === 'CustPymt' && isMissing('foreigntotal') && !body.apply?.length)
    missing.push('Payment Amount');
  if (type.transactionType === 'CustRfnd' && !body.apply?.length) missing.push('Apply');
  if (missing.length > 0) throw missingValues(missing);
  if (type.lines && !body.lines?.length) throw USER_ERRORS.noLines();
}

/**
 * Default values by column. `now` is business time, in ISO format for timestamps; `timeZone` decides which
 * day is today.
 */
export function defaultsFor(
  type: RestRecordType,
  id: string,
  now: Date,
  values: Values,
  timeZone: string,
): Map<string, string | null> {
  const at = now.toISOString();
  switch (type.table) {
    case 'customer': {
      const person = [values.get('firstname'), values.get('lastname')].filter(Boolean).join(' ');
      const entityId = values.get('companyname') ?? (person || id);
      return new Map([
        ['id', id],
        ['entityid', entityId],
        ['isperson', 'F'],
        ['isinactive', 'F'],
        ['currency', '1'],
        ['datecreated', at],
        ['lastmodifieddate', at],
      ]);
    }
    case 'item':
      return new Map([
        ['id', id],
        ['itemtype', 'InvtPart'],
        ['isinactive', 'F'],
        ['createddate', at],
        ['lastmodifieddate', at],
      ]);
    default:
      return transactionDefaults(type, id, at, values, dayIn(timeZone, now));
  }
}

function transactionDefaults(
  type: RestRecordType,
  id: string,
  at: string,
  values: Values,
  today: string,
): Map<string, string | null> {
  const kind = type.transactionType ?? '';
  const day = values.get('trandate') ?? today;
  const status =
    kind === 'SalesOrd'
      ? 'B'
      : kind === 'CustPymt'
        ? (values.get('account') ?? null) === null
          ? 'B'
          : 'C'
        : null;
  return new Map([
    ['id', id],
    ['type', kind],
    ['tranid', `${PREFIX[kind] ?? ''}${id}`],
    ['trandate', day],
    ['currency', '1'],
    ['exchangerate', '1'],
    ['posting', kind === 'SalesOrd' ? 'F' : 'T'],
    ['foreigntotal', '0'],
    ['createddate', at],
    ['lastmodifieddate', at],
    ['status', status],
    ['iswritten', 'true'],
    ...(kind === 'CustInvc' ? ([['duedate', addDays(day, DAYS_TO_PAY)]] as const) : []),
  ]);
}

/** As YYYY-MM-DD. */
const dayIn = (timeZone: string, at: Date): string =>
  new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(at);
const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
