// The second ERP of docs/adding-an-erp.md: it serves orders as CSV over HTTP to clients with its token. The
// page quotes this file word for word; a test compares them.

import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import {
  type Connector,
  type ConnectorKind,
  ErpError,
  type FieldMetadata,
  type FieldType,
  type RecordPage,
  type RecordTypeMetadata,
} from '../../../src/connectors/connector.ts';
import { testBy } from '../../../src/connectors/http/test-by.ts';
import type { RecordRejection, SourceRecord, SourceValue } from '../../../src/connectors/source-records.ts';

// What is stored for a connection.
export const CsvSettings = z.strictObject({ url: z.url() });
export const CsvSecrets = z.strictObject({ token: z.string().min(1) });
export type CsvSettings = z.infer<typeof CsvSettings>;
export type CsvSecrets = z.infer<typeof CsvSecrets>;

// The record types of the ERP.
const field = (name: string, label: string, type: FieldType): FieldMetadata => ({
  name,
  label,
  type,
  custom: false,
  syncable: true,
  volatile: false,
  reason: null,
});
const order: RecordTypeMetadata = {
  name: 'order',
  label: 'Order',
  table: 'orders',
  source: 'the manual',
  idType: 'text',
  fields: [
    field('id', 'Number', 'text'),
    field('changed', 'Changed', 'time'),
    field('customer', 'Customer', 'text'),
    field('total', 'Total', 'number'),
    field('paid', 'Paid', 'boolean'),
  ],
  openWhen: null,
  modifiedField: 'changed',
  linesModifiedField: null,
  shownAs: { number: 'id', name: 'customer', date: null, amount: 'total' },
};

// One request, and its errors.
type SendRequest = (path: string, query: Record<string, string>, signal: AbortSignal) => Promise<string>;
type ConnectorCtx = Parameters<typeof csvErp.create>[0];

function createRequest(ctx: ConnectorCtx, { url }: CsvSettings, { token }: CsvSecrets): SendRequest {
  const limits = {
    timeoutMs: ctx.settings.erp.requestTimeoutMs,
    maxBytes: ctx.settings.erp.maxResponseBytes,
  };
  return async (path, query, signal) => {
    const address = `${url}/${path}?${new URLSearchParams(query).toString()}`;
    const response = await ctx
      .fetch(address, { headers: { authorization: `Bearer ${token}` }, ...limits, signal })
      .catch((error) => {
        signal.throwIfAborted();
        throw new ErpError('down', 'UNREACHABLE', 'The ERP did not respond', {
          fix: 'Check its address.',
          cause: error,
        });
      });
    if (response.status === 200) return response.text;
    if (response.status === 401)
      throw new ErpError('credentials', 'TOKEN_REFUSED', 'The ERP refused the token', {
        fix: 'Enter a new token.',
      });
    if (response.status === 429)
      throw new ErpError('throttled', 'TOO_FAST', 'The ERP is limiting requests', {
        fix: 'Nothing to do: the sync retries later.',
      });
    throw new ErpError('down', 'SERVER_ERROR', `The ERP responded with status ${response.status}`, {
      fix: 'Check whether the ERP is up.',
    });
  };
}

// From a line of CSV to exact text, or to the reason why the record is rejected.
const parsers: Readonly<Record<string, (text: string) => SourceValue | undefined>> = {
  number: (text) => (/^-?\d+(\.\d+)?$/.test(text) ? text : undefined),
  boolean: (text) => ({ yes: 'true', no: 'false' })[text],
  time: (text) => (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text) ? text : undefined),
};

function readRow(row: Readonly<Record<string, string>>): SourceRecord | RecordRejection {
  const id = row['id'] ?? '';
  const values: Record<string, SourceValue> = {};
  for (const { name, type } of order.fields) {
    const text = row[name] ?? '';
    const value = text === '' ? null : (parsers[type] ?? String)(text);
    if (value === undefined) return { id, code: 'VALUE_UNREADABLE', message: `${name} is not a ${type}` };
    values[name] = value;
  }
  return { id, modifiedAt: values['changed'] ?? null, values, labels: {}, lines: null };
}

function readCsv(text: string, limit: number): RecordPage {
  const rows = parse<Record<string, string>>(text, { columns: true }).map(readRow);
  const page = rows.slice(0, limit); // one more row was requested, to see whether there are more
  return {
    records: page.filter((row) => 'labels' in row),
    rejected: page.filter((row) => 'code' in row),
    lastId: page.at(-1)?.id ?? null,
    hasMore: rows.length > limit,
  };
}

// The contract, method by method.
export const csvErp: ConnectorKind<CsvSettings, CsvSecrets> = {
  create(ctx, settings, secrets): Connector {
    const request = createRequest(ctx, settings, secrets);
    const list = async (
      query: Record<string, string>,
      limit: number,
      signal: AbortSignal,
    ): Promise<RecordPage> =>
      readCsv(await request('orders.csv', { ...query, limit: String(limit + 1) }, signal), limit);
    const after = (id: string | null): Record<string, string> => (id === null ? {} : { after: id });
    const since = (at: Date | null): Record<string, string> =>
      at === null ? {} : { since: at.toISOString() };
    const upTo = (id: string | null): Record<string, string> => (id === null ? {} : { upto: id });
    const byIds = async (ids: readonly string[], signal: AbortSignal): Promise<RecordPage> => {
      if (ids.length > 1_000) throw new RangeError(`at most 1,000 ids per call, got ${ids.length}`);
      return list({ ids: JSON.stringify(ids) }, ids.length, signal);
    };
    const now = async (signal: AbortSignal): Promise<Date> => new Date(await request('clock', {}, signal));
    return {
      now,
      today: (signal) => request('today', {}, signal),
      metadata: async () => [order],
      count: async (_recordType, signal, range = { afterId: null, upTo: null }) =>
        Number(await request('count', { ...after(range.afterId), ...upTo(range.upTo) }, signal)),
      readPage: ({ afterId, changedSince, limit, signal }) =>
        list({ ...after(afterId), ...since(changedSince) }, limit, signal),
      readByIds: ({ ids, signal }) => byIds(ids, signal),
      scan: ({ ids, afterId, signal, ...rest }) =>
        ids === undefined
          ? list(after(afterId ?? null), 'limit' in rest ? (rest.limit ?? 1_000) : 1_000, signal)
          : byIds(ids, signal),
      async listIds({ afterId, changedSince = null, limit, signal }) {
        const { records, rejected, hasMore } = await list(
          { ...after(afterId), ...since(changedSince) },
          limit,
          signal,
        );
        const modifiedAt = new Map(
          changedSince === null ? [] : records.map((record) => [record.id, record.modifiedAt]),
        );
        const listed = [...records, ...rejected].map(({ id }) => ({
          id,
          modifiedAt: modifiedAt.get(id) ?? null,
        }));
        return {
          listed: listed.toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id))),
          hasMore,
        };
      },
      test: (signal) => testBy(ctx.clock, new URL(settings.url).host, now, signal),
    };
  },
};
