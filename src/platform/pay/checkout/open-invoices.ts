// Open amounts of invoices. They are read from the ERP itself, since synced data may be minutes old. Synced
// data is used only when the caller allows it and the ERP does not respond.
import { ErpError, type RecordTypeMetadata } from '../../../connectors/connector.ts';
import type { SourceValue } from '../../../connectors/source-records.ts';
import type { TenantCtx } from '../../../core/ctx.ts';
import { AppError, invalid, unavailable } from '../../../core/errors.ts';
import { parseExact } from '../../../core/text/exact-json.ts';
import { isCurrency, readAmount } from '../../../core/text/money.ts';
import { inTransaction } from '../../../db/transaction.ts';
import { allRows, getNewestRecordReader } from '../../../public/index.ts';
import {
  connectionOf,
  createTenantConnector,
  findDescription,
  listMaskedSources,
} from '../../../sync/index.ts';
import { filterRejectedIds } from '../../../warehouse/rejections.ts';
import type { InvoiceMapping } from '../ledger/config.schemas.ts';
import { databaseTime } from '../ledger/database-time.ts';
import type { PayerCtx } from './payer.ts';

/** Values as text. `currencyNames`: codes and names of its currency; null when the mapping has none. */
type RawInvoice = {
  readonly id: string;
  readonly number: SourceValue;
  readonly amountDue: SourceValue;
  readonly customer: SourceValue;
  readonly currencyNames: readonly string[] | null;
};
export type OpenInvoice = {
  readonly recordId: string;
  readonly number: string;
  readonly customerId: string | null;
  readonly isInCurrency: boolean;
  /** Undefined when the ERP's number is not a valid amount in the currency. */
  readonly dueMinor: bigint | undefined;
};
/**
 * `readAt` is the database's time before the ERP was queried. `byId` has the invoices that were found, by
 * record id. `hidesDue`: the caller sees open amounts masked.
 */
export type OpenInvoices = {
  readonly readAt: Date;
  readonly byId: ReadonlyMap<string, OpenInvoice>;
  readonly hidesDue: boolean;
};

const erpTimeoutMs = 30_000;
const staleBatchSize = 100;
const englishNames = new Intl.DisplayNames('en', { type: 'currency' });

/** Whether one of these names is the currency's code or its English name, in any case. */
export function matchesCurrency(currency: string, names: readonly string[]): boolean {
  const upperCased = names.map((name) => name.trim().toUpperCase());
  // Record ids of currencies may look like anything: with any currency code among the names, codes decide.
  const codes = upperCased.filter(isCurrency);
  return codes.length > 0
    ? codes.includes(currency)
    : upperCased.includes((englishNames.of(currency) ?? currency).toUpperCase());
}

/** A masked number is the record's id instead: payers and mails see it. */
const toOpenInvoice = (raw: RawInvoice, currency: string, isNumberMasked: boolean): OpenInvoice => ({
  recordId: raw.id,
  number: isNumberMasked ? raw.id : (raw.number ?? raw.id),
  customerId: raw.customer,
  isInCurrency: raw.currencyNames === null || matchesCurrency(currency, raw.currencyNames),
  dueMinor: readAmount(raw.amountDue ?? '0', currency),
});

const listFields = ({ number, amountDue, customer, currency }: InvoiceMapping): string[] => [
  ...new Set([number, amountDue, customer, ...(currency === null ? [] : [currency])]),
];
const present = (names: readonly SourceValue[]): string[] =>
  names.flatMap((name) => (name === null || name === '' ? [] : [name]));

/** Drops ids that can't be ids of the record type. */
const withValidIds = (ids: readonly string[], { idType }: RecordTypeMetadata): string[] =>
  ids.filter((id) => (idType === 'integer' ? /^[1-9]\d{0,14}$/.test(id) : true));

async function readFromErp(
  ctx: PayerCtx,
  mapping: InvoiceMapping,
  ids: readonly string[],
): Promise<RawInvoice[]> {
  const recordType = await findDescription(ctx, mapping.recordType);
  if (recordType === undefined) {
    const message = `The ERP has no record type ${mapping.recordType}: change the mapping in the payment configuration`;
    throw invalid('Unknown invoice record type', [{ path: '', code: 'unknown_record_type', message }]);
  }
  const connector = await createTenantConnector(ctx, connectionOf(mapping.recordType));
  const signal = AbortSignal.any([ctx.disconnected, AbortSignal.timeout(erpTimeoutMs)]);
  const wanted = withValidIds(ids, recordType);
  if (wanted.length === 0) return [];
  const { records } = await connector.scan({ recordType, fields: listFields(mapping), ids: wanted, signal });
  const { currency } = mapping;
  return records.map(({ id, values, labels }) => ({
    id,
    number: values[mapping.number] ?? null,
    amountDue: values[mapping.amountDue] ?? null,
    customer: values[mapping.customer] ?? null,
    currencyNames: currency === null ? null : present([values[currency] ?? null, labels[currency] ?? null]),
  }));
}

const toText = (value: unknown): SourceValue =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : JSON.stringify(value);

async function readFromWarehouse(
  ctx: PayerCtx,
  mapping: InvoiceMapping,
  ids: readonly string[],
): Promise<RawInvoice[]> {
  const { recordType, currency } = mapping;
  const sources = [...listFields(mapping), ...(currency === null ? [] : [`${currency}.name`])];
  const columns = sources.map((source, index) => ({ name: `c${index}`, source }));
  const toColumnName = (source: string): string => `c${sources.indexOf(source)}`;
  const found: Record<string, unknown>[] = [];
  for (let from = 0; from < ids.length; from += staleBatchSize) {
    const filters = [
      { source: 'id', operator: 'eq' as const, values: ids.slice(from, from + staleBatchSize) },
    ];
    const { records } = await getNewestRecordReader(ctx).list(
      ctx,
      { recordType, columns, filters, sort: [] },
      { page: 1, pageSize: staleBatchSize },
      allRows({ unmasked: true }),
    );
    found.push(...(parseExact(records) as Record<string, unknown>[]));
  }
  return found.map((record) => {
    const at = (source: string): SourceValue => toText(record[toColumnName(source)]);
    return {
      id: toText(record['id']) ?? '',
      number: at(mapping.number),
      amountDue: at(mapping.amountDue),
      customer: at(mapping.customer),
      currencyNames: currency === null ? null : present([at(currency), at(`${currency}.name`)]),
    };
  });
}

/** Start of the last run that succeeded, at least in part: synced data was read no earlier than that. */
export const syncedSince = (ctx: TenantCtx, recordType: string): Promise<Date> =>
  inTransaction(ctx, async (tx) => {
    const run = await tx('sync_runs')
      .where({ organization_id: ctx.organizationId, record_type: recordType })
      .whereIn('status', ['succeeded', 'partial'])
      .max<{ at: Date | null }>('started_at as at')
      .first();
    return run?.at ?? new Date(0);
  });

const erpUnavailable = (error: ErpError): AppError =>
  unavailable(
    'The ERP is not responding, so open amounts could not be read',
    Math.max(1, Math.ceil((error.retryAfterMs ?? 5_000) / 1000)),
    error,
  );

/**
 * Throws 422 when the ERP is not connected or lacks the record type, and 503 when it does not respond; with
 * `allowStale` synced data is used, and 503 only thrown when the last sync rejected one of the invoices.
 */
export async function readOpenInvoices(
  ctx: PayerCtx,
  { mapping, currency }: { readonly mapping: InvoiceMapping; readonly currency: string },
  ids: readonly string[],
  allowStale: boolean,
): Promise<OpenInvoices> {
  const { readAt, masked } = await inTransaction(ctx, async (tx) => ({
    readAt: await databaseTime(tx),
    masked: await listMaskedSources(tx, ctx.organizationId, mapping.recordType),
  }));
  const toOpenInvoices = (at: Date, raw: readonly RawInvoice[]): OpenInvoices => ({
    readAt: at,
    byId: new Map(
      raw.map((invoice) => [invoice.id, toOpenInvoice(invoice, currency, masked.has(mapping.number))]),
    ),
    hidesDue: masked.has(mapping.amountDue) && !ctx.principal.reads.unmasked,
  });
  try {
    return toOpenInvoices(readAt, await readFromErp(ctx, mapping, ids));
  } catch (error) {
    // An AppError means that there is no connection, or that its settings are incomplete.
    if (!(error instanceof ErpError) && !(error instanceof AppError)) throw error;
    ctx.log.warn(
      { err: error, organizationId: ctx.organizationId, stale: allowStale },
      'open amounts could not be read from the ERP',
    );
    if (!allowStale) throw error instanceof ErpError ? erpUnavailable(error) : error;
  }
  const since = await syncedSince(ctx, mapping.recordType);
  // For rejected records the warehouse holds an older state than the last run read.
  if ((await filterRejectedIds(ctx, mapping.recordType, ids)).size > 0)
    throw unavailable('The ERP is not responding, and the last sync rejected some of these invoices', 60);
  return toOpenInvoices(since, await readFromWarehouse(ctx, mapping, ids));
}
