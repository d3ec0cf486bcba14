// A connector for Tryton, whose contract the service wasn't written for: models over JSON-RPC, searched by domains.

import { z } from 'zod';
import {
  type Connector,
  type ConnectorKind,
  ErpError,
  type FieldMetadata,
  type FieldType,
  type PageRequest,
  type RecordPage,
  type RecordTypeMetadata,
} from '../../../src/connectors/connector.ts';
import { testBy } from '../../../src/connectors/http/test-by.ts';
import type { RecordRejection, SourceRecord, SourceValue } from '../../../src/connectors/source-records.ts';

export const TrytonSettings = z.strictObject({ url: z.url(), database: z.string(), user: z.string() });
export const TrytonSecrets = z.strictObject({ password: z.string().min(1) });
export type TrytonSettings = z.infer<typeof TrytonSettings>;
export type TrytonSecrets = z.infer<typeof TrytonSecrets>;
type Ctx = Parameters<typeof tryton.create>[0];

/** Names of record types have no dots. */
const models: Readonly<Record<string, string>> = {
  party_party: 'party.party',
  party_address: 'party.address',
  currency_currency: 'currency.currency',
};

/** As Tryton's JSON has what JSON doesn't know, its numbers as text. */
type Special = { readonly __class__: string } & Readonly<Record<string, string>>;
type Value = string | boolean | null | Special | number;
type Row = Readonly<Record<string, Value>>;
type Call = <T>(method: string, params: readonly unknown[], signal: AbortSignal) => Promise<T>;

type ParseWithSource = (
  text: string,
  reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;
/** Numbers stay text: a total must not lose a cent. */
const parseExactly = (text: string): unknown =>
  (JSON.parse as ParseWithSource)(text, (_key, value, { source }) =>
    typeof value === 'number' ? (source ?? value) : value,
  );

const unreachable = (code: string, message: string, cause?: unknown): ErpError =>
  new ErpError('down', code, message, { fix: 'Check whether Tryton is up.', cause });
const refused = (): ErpError =>
  new ErpError('credentials', 'LOGIN_REFUSED', 'Tryton refused the login', {
    fix: 'Enter the user and its password again.',
  });

/** The exceptions by which Tryton says what it can't do are pairs of a name and a message. */
function toError(error: unknown): ErpError {
  const [name = '', message = ''] = Array.isArray(error) ? error.map(String) : [String(error)];
  if (name === 'AccessError' || name.includes('Access'))
    return new ErpError('forbidden', 'ACCESS_REFUSED', message, {
      fix: 'Give the user access to the model.',
    });
  return new ErpError('query', 'CALL_REFUSED', `${name} ${message}`.trim(), { fix: 'Report this message.' });
}

function createHttp(ctx: Ctx, { url, database }: TrytonSettings) {
  const limits = {
    timeoutMs: ctx.settings.erp.requestTimeoutMs,
    maxBytes: ctx.settings.erp.maxResponseBytes,
  };
  return async (method: string, params: readonly unknown[], session: string | null, signal: AbortSignal) => {
    const headers = {
      'content-type': 'application/json',
      ...(session !== null && { authorization: `Session ${session}` }),
    };
    const request = { method: 'POST' as const, headers, body: JSON.stringify({ id: 1, method, params }) };
    const response = await ctx
      .fetch(`${url}/${database}/`, { ...request, ...limits, signal })
      .catch((error: unknown) => {
        signal.throwIfAborted();
        throw unreachable('UNREACHABLE', 'Tryton did not respond', error);
      });
    if (response.status === 401) return { status: 401 as const };
    if (response.status === 429)
      throw new ErpError('throttled', 'TOO_FAST', 'Tryton limits requests', {
        fix: 'Nothing to do: the sync retries later.',
      });
    if (response.status !== 200)
      throw unreachable('SERVER_ERROR', `Tryton responded with status ${response.status}`);
    return {
      status: 200 as const,
      answer: parseAnswer(response.text),
      date: response.headers['date'] ?? null,
    };
  };
}

function parseAnswer(text: string): unknown {
  const read = (): unknown => {
    try {
      return parseExactly(text);
    } catch {
      return undefined;
    }
  };
  const answer = read();
  if (typeof answer !== 'object' || answer === null || !('result' in answer || 'error' in answer))
    throw new ErpError('answer', 'NOT_JSON_RPC', 'The answer is not one of Tryton', {
      fix: 'Check that the address is that of Tryton and not of a proxy.',
    });
  if ('error' in answer) throw toError(answer.error);
  return (answer as { result: unknown }).result;
}

/** Signs in with the first call, and once more when the session has ended. */
function createCall(ctx: Ctx, settings: TrytonSettings, { password }: TrytonSecrets) {
  const send = createHttp(ctx, settings);
  let session: Promise<string> | undefined;
  let lastDate: string | null = null;
  const signIn = async (signal: AbortSignal): Promise<string> => {
    const given = [settings.user, { password }, 'en'];
    const reply = await send('common.db.login', given, null, signal);
    const found = reply.status === 200 ? (reply.answer as readonly [string, string] | null) : null;
    if (found === null) throw refused();
    return Buffer.from(`${settings.user}:${found[0]}:${found[1]}`).toString('base64');
  };
  const open = (signal: AbortSignal): Promise<string> => {
    session ??= signIn(signal).catch((error: unknown) => {
      session = undefined;
      throw error;
    });
    return session;
  };
  const call: Call = async <T>(method: string, params: readonly unknown[], signal: AbortSignal) => {
    for (let attempt = 1; ; attempt += 1) {
      const reply = await send(method, params, await open(signal), signal);
      if (reply.status === 200) {
        lastDate = reply.date;
        return reply.answer as T;
      }
      session = undefined;
      if (attempt === 2) throw refused();
    }
  };
  return { call, date: (): Date => new Date(lastDate ?? Number.NaN) };
}

type Described = {
  readonly type: string;
  readonly string: string;
  readonly relation?: string;
  readonly sortable?: boolean;
};
const types: Readonly<Record<string, FieldType>> = {
  ...{ char: 'text', text: 'text', selection: 'text', integer: 'integer', numeric: 'number' },
  ...{ boolean: 'boolean', date: 'date', datetime: 'time', timestamp: 'time', many2one: 'reference' },
};

function toField(
  name: string,
  { type, string: label, relation, sortable }: Described,
): FieldMetadata | undefined {
  const own = types[type];
  if (own === undefined) return undefined;
  const target = Object.entries(models).find(([, model]) => model === relation)?.[0];
  // What Tryton can't sort by, it calculates when it is read.
  const isStored = sortable !== false;
  return {
    ...{ name, label, type: own, custom: name.startsWith('x_'), syncable: isStored, volatile: false },
    reason: isStored ? null : 'Tryton calculates it, and does not say when it changes',
    ...(own === 'reference' && target !== undefined && { target }),
  };
}

/** `write_date` is null until a record is first written. */
const modified: FieldMetadata = {
  ...{ name: 'lastModified', label: 'Last modified', type: 'time', custom: false },
  ...{ syncable: true, volatile: false, reason: null },
};

function toRecordType(name: string, fields: Readonly<Record<string, Described>>): RecordTypeMetadata {
  const found = Object.entries(fields).flatMap(([field, described]) => toField(field, described) ?? []);
  const has = (field: string): string | null => (field in fields ? field : null);
  return {
    ...{ name, label: models[name] ?? name, table: models[name] ?? name, source: 'fields_get' },
    ...{ idType: 'integer', openWhen: null, modifiedField: 'lastModified', linesModifiedField: null },
    fields: [...found, modified],
    shownAs: { number: has('code'), name: has('name'), date: null, amount: null },
  };
}

const two = (digits: string | undefined): string => String(digits ?? 0).padStart(2, '0');
function toText(value: Value | undefined): SourceValue {
  if (value === null || value === undefined) return null;
  if (typeof value !== 'object') return String(value);
  const { year, month, day, hour, minute, second } = value;
  if (value.__class__ === 'Decimal') return value['decimal'] ?? null;
  const date = `${year}-${two(month)}-${two(day)}`;
  return value.__class__ === 'date' ? date : `${date}T${two(hour)}:${two(minute)}:${two(second)}Z`;
}
const toBoolean = (value: Value | undefined): SourceValue =>
  value === null || value === undefined ? null : String(value === true || value === '1');

const toDatetime = (at: Date) => ({
  __class__: 'datetime',
  ...{ year: at.getUTCFullYear(), month: at.getUTCMonth() + 1, day: at.getUTCDate() },
  ...{ hour: at.getUTCHours(), minute: at.getUTCMinutes(), second: at.getUTCSeconds() },
  microsecond: at.getUTCMilliseconds() * 1_000,
});

type Domain = readonly unknown[];
const changedSince = (at: Date | null): Domain =>
  at === null
    ? []
    : [
        [
          'OR',
          ['write_date', '>=', toDatetime(at)],
          [
            ['write_date', '=', null],
            ['create_date', '>=', toDatetime(at)],
          ],
        ],
      ];
const between = ({ afterId, upTo = null }: { afterId: string | null; upTo?: string | null }): Domain => [
  ...(afterId === null ? [] : [['id', '>', Number(afterId)]]),
  ...(upTo === null ? [] : [['id', '<=', Number(upTo)]]),
];
/** Without it, Tryton hides what is no longer active. */
const context = { active_test: false };

function readRow(row: Row, fields: readonly FieldMetadata[]): SourceRecord | RecordRejection {
  const id = String(row['id']);
  const values: Record<string, SourceValue> = {};
  const labels: Record<string, SourceValue> = {};
  const modifiedAt = toText(row['write_date'] ?? row['create_date']);
  for (const { name, type } of fields) {
    const value = name === 'lastModified' ? modifiedAt : row[name];
    values[name] =
      name === 'lastModified' ? modifiedAt : type === 'boolean' ? toBoolean(row[name]) : toText(row[name]);
    if (type === 'reference' && value !== null)
      labels[name] = (row[`${name}.`] as unknown as { rec_name?: string } | null)?.rec_name ?? null;
  }
  return { id, modifiedAt, values, labels, lines: null };
}

function chooseFields({ fields }: RecordTypeMetadata, names: readonly string[]): FieldMetadata[] {
  return names.map((name) => {
    const field = fields.find((one) => one.name === name);
    if (field?.syncable === true) return field;
    throw new ErpError('query', 'FIELD_NOT_SYNCABLE', `${name} can't be read`, {
      fix: 'Nothing to do: the fields are read again.',
    });
  });
}

type Read = Pick<PageRequest, 'recordType' | 'fields' | 'signal'>;
async function search(
  call: Call,
  { recordType, fields, signal }: Read,
  domain: Domain,
  limit: number,
): Promise<RecordPage> {
  const wanted = chooseFields(recordType, fields);
  const names = wanted.flatMap(({ name, type }) =>
    name === 'lastModified' ? [] : type === 'reference' ? [name, `${name}.rec_name`] : [name],
  );
  const asked = [...new Set([...names, 'id', 'create_date', 'write_date'])];
  const params = [domain, 0, limit + 1, [['id', 'ASC']], asked, context];
  const rows = await call<readonly Row[]>(`model.${recordType.table}.search_read`, params, signal);
  const page = rows.slice(0, limit).map((row) => readRow(row, wanted));
  return {
    records: page.filter((row) => 'labels' in row),
    rejected: page.filter((row) => 'code' in row),
    lastId: page.at(-1)?.id ?? null,
    hasMore: rows.length > limit,
  };
}
const named = (ids: readonly string[]): Domain => [['id', 'in', ids.map(Number)]];

async function listIds(call: Call, request: Parameters<Connector['listIds']>[0]) {
  const { recordType, afterId, changedSince: since = null, limit, signal } = request;
  const read = { recordType, fields: [], signal };
  const page = await search(call, read, [...between({ afterId }), ...changedSince(since)], limit);
  const listed = page.records.map(({ id, modifiedAt }) => ({
    id,
    modifiedAt: since === null ? null : modifiedAt,
  }));
  return { listed, hasMore: page.hasMore };
}

async function readMetadata(
  call: Call,
  signal: AbortSignal,
  only = Object.keys(models),
): Promise<RecordTypeMetadata[]> {
  const found: RecordTypeMetadata[] = [];
  for (const name of only) {
    const model = models[name];
    if (model === undefined) continue;
    const params = [[], context];
    const fields = await call<Readonly<Record<string, Described>>>(
      `model.${model}.fields_get`,
      params,
      signal,
    );
    found.push(toRecordType(name, fields));
  }
  return found;
}

export const tryton: ConnectorKind<TrytonSettings, TrytonSecrets> = {
  create(ctx, settings, secrets): Connector {
    const { call, date } = createCall(ctx, settings, secrets);
    const now = async (signal: AbortSignal): Promise<Date> => {
      await call('model.party.party.search_count', [[['id', '=', 0]], context], signal);
      return date();
    };
    const count: Connector['count'] = async ({ table }, signal, range) =>
      Number(
        await call(
          `model.${table}.search_count`,
          [range === undefined ? [] : between(range), context],
          signal,
        ),
      );
    return {
      now,
      today: async (signal) => (await now(signal)).toISOString().slice(0, 10),
      metadata: (signal, only) => readMetadata(call, signal, only === undefined ? undefined : [...only]),
      count,
      countChanged: async ({ recordType: { table }, since, range, signal }) => {
        const domain = [...(range === undefined ? [] : between(range)), ...changedSince(since)];
        const records = Number(await call(`model.${table}.search_count`, [domain, context], signal));
        return { records, withChangedLines: null };
      },
      readPage: ({ afterId, changedSince: since, limit, ...read }) =>
        search(call, read, [...between({ afterId }), ...changedSince(since)], limit),
      readByIds: async ({ ids, ...read }) => {
        if (ids.length > 1_000) throw new RangeError(`at most 1,000 ids per call, got ${ids.length}`);
        return search(call, read, named(ids), ids.length);
      },
      scan: ({ ids, afterId, recordType, fields, signal, ...rest }) =>
        ids === undefined
          ? search(
              call,
              { recordType, fields, signal },
              between({ afterId: afterId ?? null }),
              ('limit' in rest && rest.limit) || 1_000,
            )
          : search(call, { recordType, fields, signal }, named(ids), ids.length),
      listIds: (request) => listIds(call, request),
      test: (signal) => testBy(ctx.clock, settings.database, now, signal),
    };
  },
};
