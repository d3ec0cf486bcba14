// A second ERP, as docs/adding-an-erp.md builds it: it has orders, and gives them as CSV over HTTP to whoever has its token.
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import {
  type Connector,
  type ConnectorKind,
  ErpError,
  type FieldMetadata,
  type FieldType,
  type Page,
  type RecordTypeMetadata,
  type RejectedRecord,
  type SourceRecord,
  type SourceValue,
} from '../../../src/connectors/connector.ts';

// What is stored of a connection.
export const csvSettings = z.strictObject({ url: z.url() });
export const csvSecrets = z.strictObject({ token: z.string().min(1) });
type Settings = z.infer<typeof csvSettings>;
type Secrets = z.infer<typeof csvSecrets>;

// What the ERP holds.
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
};

// One question, and what may go wrong with it.
type Ask = (path: string, query: Record<string, string>, signal: AbortSignal) => Promise<string>;
type ConnectorCtx = Parameters<typeof csvErp.open>[0];

function openAsk(ctx: ConnectorCtx, { url }: Settings, { token }: Secrets): Ask {
  const limits = { timeoutMs: ctx.settings.erp.requestTimeoutMs, maxBytes: ctx.settings.erp.maxResponseBytes };
  return async (path, query, signal) => {
    const address = `${url}/${path}?${new URLSearchParams(query).toString()}`;
    const response = await ctx.fetch(address, { headers: { authorization: `Bearer ${token}` }, ...limits, signal }).catch((error) => {
      signal.throwIfAborted();
      throw new ErpError('down', 'UNREACHABLE', 'The ERP did not answer', { fix: 'Check its address.', cause: error });
    });
    if (response.status === 200) return response.text;
    if (response.status === 401) throw new ErpError('credentials', 'TOKEN_REFUSED', 'The token is refused', { fix: 'Enter a new token.' });
    if (response.status === 429) throw new ErpError('throttled', 'TOO_FAST', 'The ERP asks for patience', { fix: 'Nothing.' });
    throw new ErpError('down', 'SERVER_ERROR', `The ERP answered ${response.status}`, { fix: 'See whether it is up.' });
  };
}

// From a line of CSV to exact text, or to the reason why it can't be taken.
const parsers: Readonly<Record<string, (text: string) => SourceValue | undefined>> = {
  number: (text) => (/^-?\d+(\.\d+)?$/.test(text) ? text : undefined),
  boolean: (text) => ({ yes: 'true', no: 'false' })[text],
  time: (text) => (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text) ? text : undefined),
};

function readRow(row: Readonly<Record<string, string>>): SourceRecord | RejectedRecord {
  const id = row['id'] ?? '';
  const values: Record<string, SourceValue> = {};
  for (const { name, type } of order.fields) {
    const text = row[name] ?? '';
    const value = text === '' ? null : (parsers[type] ?? String)(text);
    if (value === undefined) return { id, code: 'VALUE_UNREADABLE', message: `${name} is no ${type}` };
    values[name] = value;
  }
  return { id, modifiedAt: values['changed'] ?? null, values, labels: {}, lines: null };
}

function readCsv(text: string, limit: number): Page {
  const rows = parse<Record<string, string>>(text, { columns: true }).map(readRow);
  const taken = rows.slice(0, limit); // one more was asked for, to see whether there is one
  return {
    records: taken.filter((row) => 'values' in row),
    rejected: taken.filter((row) => 'code' in row),
    lastId: taken.at(-1)?.id ?? null,
    hasMore: rows.length > limit,
  };
}

// The interface, question by question.
export const csvErp: ConnectorKind<Settings, Secrets> = {
  open(ctx, settings, secrets): Connector {
    const ask = openAsk(ctx, settings, secrets);
    const list = async (query: Record<string, string>, limit: number, signal: AbortSignal): Promise<Page> =>
      readCsv(await ask('orders.csv', { ...query, limit: String(limit + 1) }, signal), limit);
    const after = (id: string | null): Record<string, string> => (id === null ? {} : { after: id });
    const since = (at: Date | null): Record<string, string> => (at === null ? {} : { since: at.toISOString() });
    const byIds = (ids: readonly string[], signal: AbortSignal): Promise<Page> => list({ ids: JSON.stringify(ids) }, ids.length, signal);
    const now = async (signal: AbortSignal): Promise<Date> => new Date(await ask('clock', {}, signal));
    return {
      now,
      metadata: async () => [order],
      count: async (_recordType, signal) => Number(await ask('count', {}, signal)),
      readPage: ({ afterId, changedSince, limit, signal }) => list({ ...after(afterId), ...since(changedSince) }, limit, signal),
      readByIds: ({ ids, signal }) => byIds(ids, signal),
      scan: ({ ids, afterId, signal, ...rest }) =>
        ids === undefined ? list(after(afterId ?? null), 'limit' in rest ? (rest.limit ?? 1_000) : 1_000, signal) : byIds(ids, signal),
      async listIds({ afterId, changedSince = null, limit, signal }) {
        const { records, rejected, hasMore } = await list({ ...after(afterId), ...since(changedSince) }, limit, signal);
        const ids = [...records, ...rejected].map(({ id }) => id);
        return { ids: ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))), hasMore };
      },
      deletedSince: async () => ({ available: false, reason: 'It keeps no list of deletions', fix: 'None is needed: ids are compared.' }),
      async test(signal) {
        const startedMs = ctx.clock.monotonicMs();
        const problems = await now(signal).then(
          () => [],
          (error: unknown) => {
            if (!(error instanceof ErpError)) throw error;
            return [{ code: error.code, message: error.message, fix: error.fix }];
          },
        );
        return {
          ok: problems.length === 0,
          latencyMs: Math.round(ctx.clock.monotonicMs() - startedMs),
          account: new URL(settings.url).host,
          problems,
        };
      },
    };
  },
};
