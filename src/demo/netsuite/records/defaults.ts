// What a new record must say, and what it has when it doesn't say.
import type { RecordType } from './record-types.ts';
import { missingValues, REFUSED } from './refusals.ts';
import type { Values, WriteBody } from './write-body.ts';

const PREFIX: Record<string, string> = { CustInvc: 'INV', CustCred: 'CM', CustPymt: 'PYMT', CustRfnd: 'REF', SalesOrd: 'SO' };
const DAYS_TO_PAY = 30;

export function requireValues(type: RecordType, values: Values, body: WriteBody): void {
  const isMissing = (column: string): boolean => (values.get(column) ?? null) === null;
  const missing = type.properties.filter(({ isRequired, column }) => isRequired && isMissing(column)).map(({ title }) => title);
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
  if (type.transactionType === 'CustPymt' && isMissing('foreigntotal') && !body.apply?.length) missing.push('Payment Amount');
  if (type.transactionType === 'CustRfnd' && !body.apply?.length) missing.push('Apply');
  if (missing.length > 0) throw missingValues(missing);
  if (type.lines && !body.lines?.length) throw REFUSED.noLines();
}

export function defaultsFor(type: RecordType, id: string, now: Date, values: Values, timeZone: string): Map<string, string | null> {
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

function transactionDefaults(type: RecordType, id: string, at: string, values: Values, today: string): Map<string, string | null> {
  const kind = type.transactionType ?? '';
  const day = values.get('trandate') ?? today;
  const status = kind === 'SalesOrd' ? 'B' : kind === 'CustPymt' ? ((values.get('account') ?? null) === null ? 'B' : 'C') : null;
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

/** YYYY-MM-DD. */
const dayIn = (timeZone: string, at: Date): string => new Intl.DateTimeFormat('en-CA', { timeZone, dateStyle: 'short' }).format(at);
const addDays = (day: string, days: number): string =>
  new Date(Date.parse(`${day}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
