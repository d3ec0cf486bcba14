// What the customers' invoices still ask for: from the ERP itself, since what is synced may be minutes old; as last synced only where the
// caller allows it and the ERP does not answer.
import { ErpError, type RecordTypeMetadata, type SourceValue } from '../../connectors/connector.ts';
import type { RequestCtx } from '../../core/ctx.ts';
import { AppError, invalid, unavailable } from '../../core/errors.ts';
import { parseExact } from '../../core/exact-json.ts';
import { isCurrency, readAmount } from '../../core/money.ts';
import { inTransaction } from '../../db/transaction.ts';
import { openRecords } from '../../public/index.ts';
import { openConnectorOf, readMetadata, stillRejected } from '../../sync/index.ts';
import type { InvoiceMapping } from './pay.schemas.ts';

/** What the record says, as text; `currencyCodes` are all that its currency may be called by. */
type RawInvoice = {
  readonly id: string;
  readonly number: SourceValue;
  readonly amountDue: SourceValue;
  readonly customer: SourceValue;
  readonly currencyWords: readonly string[] | null;
};
export type OpenInvoice = {
  readonly recordId: string;
  readonly number: string;
  readonly customerId: string | null;
  readonly isInCurrency: boolean;
  /** Undefined where the ERP's number is no amount of the currency. */
  readonly dueMinor: bigint | undefined;
};
/** `readAt`: by the database's clock, before the ERP was asked. */
export type OpenInvoices = { readonly readAt: Date; readonly found: ReadonlyMap<string, OpenInvoice> };

const erpTimeoutMs = 30_000;
const staleAtOnce = 100;
const englishNames = new Intl.DisplayNames('en', { type: 'currency' });

/** Whether one of these words is the currency's code or its English name, whatever the case. */
function isCalled(currency: string, words: readonly string[]): boolean {
  const given = words.map((word) => word.trim().toUpperCase());
  // Its id in the ERP may look like anything, so a code of another currency decides.
  const codes = given.filter(isCurrency);
  return codes.length > 0 ? codes.includes(currency) : given.includes((englishNames.of(currency) ?? currency).toUpperCase());
}

const toOpen = (raw: RawInvoice, currency: string): OpenInvoice => ({
  recordId: raw.id,
  number: raw.number ?? raw.id,
  customerId: raw.customer,
  isInCurrency: raw.currencyWords === null || isCalled(currency, raw.currencyWords),
  dueMinor: readAmount(raw.amountDue ?? '0', currency),
});

const fieldsOf = ({ number, amountDue, customer, currency }: InvoiceMapping): string[] => [
  ...new Set([number, amountDue, customer, ...(currency === null ? [] : [currency])]),
];
const present = (words: readonly SourceValue[]): string[] => words.flatMap((word) => (word === null || word === '' ? [] : [word]));

/** An id that can't be one of the record type is not asked for. */
const askable = (ids: readonly string[], { idType }: RecordTypeMetadata): string[] =>
  ids.filter((id) => (idType === 'integer' ? /^[1-9]\d{0,14}$/.test(id) : true));

async function readFromErp(ctx: RequestCtx, mapping: InvoiceMapping, ids: readonly string[]): Promise<RawInvoice[]> {
  const metadata = await readMetadata(ctx);
  const recordType = metadata?.recordTypes.find(({ name }) => name === mapping.recordType);
  if (recordType === undefined)
    throw invalid('The invoices are not known', [
      { path: '', code: 'unknown_record_type', message: 'The ERP has no such record type: change it with PUT /pay/config' },
    ]);
  const connector = await openConnectorOf(ctx);
  const signal = AbortSignal.any([ctx.gone, AbortSignal.timeout(erpTimeoutMs)]);
  const wanted = askable(ids, recordType);
  if (wanted.length === 0) return [];
  const { records } = await connector.scan({ recordType, fields: fieldsOf(mapping), ids: wanted, signal });
  const { currency } = mapping;
  return records.map(({ id, values, labels }) => ({
    id,
    number: values[mapping.number] ?? null,
    amountDue: values[mapping.amountDue] ?? null,
    customer: values[mapping.customer] ?? null,
    currencyWords: currency === null ? null : present([values[currency] ?? null, labels[currency] ?? null]),
  }));
}

const textOf = (value: unknown): SourceValue =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);

async function readFromWarehouse(ctx: RequestCtx, mapping: InvoiceMapping, ids: readonly string[]): Promise<RawInvoice[]> {
  const { recordType, currency } = mapping;
  const sources = [...fieldsOf(mapping), ...(currency === null ? [] : [`${currency}.name`])];
  const columns = sources.map((source, index) => ({ name: `c${index}`, source }));
  const nameOf = (source: string): string => `c${sources.indexOf(source)}`;
  const found: Record<string, unknown>[] = [];
  for (let from = 0; from < ids.length; from += staleAtOnce) {
    const filters = [{ source: 'id', operator: 'eq' as const, values: ids.slice(from, from + staleAtOnce) }];
    const { records } = await openRecords(ctx).list(ctx, { recordType, columns, filters, sort: [] }, { page: 1, pageSize: staleAtOnce });
    found.push(...(parseExact(records) as Record<string, unknown>[]));
  }
  return found.map((record) => {
    const at = (source: string): SourceValue => textOf(record[nameOf(source)]);
    return {
      id: textOf(record['id']) ?? '',
      number: at(mapping.number),
      amountDue: at(mapping.amountDue),
      customer: at(mapping.customer),
      currencyWords: currency === null ? null : present([at(currency), at(`${currency}.name`)]),
    };
  });
}

const databaseTime = (ctx: RequestCtx): Promise<Date> =>
  inTransaction(ctx, async (tx) => {
    const { rows } = await tx.raw<{ rows: { at: Date }[] }>('select clock_timestamp() as at');
    return rows[0]?.at ?? new Date(0);
  });

/** What is synced was read from the ERP no earlier than the last run that came through began. */
const syncedSince = (ctx: RequestCtx, recordType: string): Promise<Date> =>
  inTransaction(ctx, async (tx) => {
    const run = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, record_type: recordType })
      .whereIn('status', ['succeeded', 'partial'])
      .max<{ at: Date | null }>('started_at as at')
      .first();
    return run?.at ?? new Date(0);
  });

const notAnswering = (error: ErpError): AppError =>
  unavailable(
    'The ERP does not answer, and open amounts are read from it',
    Math.max(1, Math.ceil((error.retryAfterMs ?? 5_000) / 1000)),
    error,
  );

/** Throws 503 when the ERP can't be asked and `allowStale` is off, or what is synced is no state of the last run. */
export async function readOpenInvoices(
  ctx: RequestCtx,
  { mapping, currency }: { readonly mapping: InvoiceMapping; readonly currency: string },
  ids: readonly string[],
  allowStale: boolean,
): Promise<OpenInvoices> {
  const opened = (readAt: Date, raw: readonly RawInvoice[]): OpenInvoices => ({
    readAt,
    found: new Map(raw.map((invoice) => [invoice.id, toOpen(invoice, currency)])),
  });
  const readAt = await databaseTime(ctx);
  try {
    return opened(readAt, await readFromErp(ctx, mapping, ids));
  } catch (error) {
    // An AppError: there is no connection, or what it needs is missing.
    if (!(error instanceof ErpError) && !(error instanceof AppError)) throw error;
    ctx.log.warn({ err: error, organizationId: ctx.organizationId, stale: allowStale }, 'open amounts could not be read from the ERP');
    if (!allowStale) throw error instanceof ErpError ? notAnswering(error) : error;
  }
  const since = await syncedSince(ctx, mapping.recordType);
  // Of these the warehouse holds an older state than the last run saw.
  if ((await stillRejected(ctx, mapping.recordType, ids)).size > 0)
    throw unavailable('The ERP does not answer, and the last sync could not take in what it says of these invoices', 60);
  return opened(since, await readFromWarehouse(ctx, mapping, ids));
}
