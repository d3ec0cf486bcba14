// Creates, updates and deletes records. Each write is one transaction with everything derived from it: lines,
// totals, applications, paid and unpaid amounts, and the row in deletedrecord.
import type { Pool, PoolClient } from 'pg';
import { inWriteTransaction } from '../database/write-transaction.ts';
import { settleTransactions } from '../load/settle.ts';
import { listPayers, postTransactions, totalTransactions } from '../profile/posting.ts';
import type { ProfileName } from '../profile/profile-name.ts';
import { DEFAULT_IDS, profileDefaults } from '../profile/write-defaults.ts';
import type { Switches } from '../switches.ts';
import { quoteSqlName } from '../tables/table.ts';
import { assertCanChange, assertCustomerCanBuy, assertPeriodOpen } from './assert-state.ts';
import { assertRequiredValues, defaultsFor } from './defaults.ts';
import { addDeletedRecord } from './deleted-records.ts';
import type { RecordChange } from './record-change.ts';
import { recordNotFound, USER_ERRORS } from './record-errors.ts';
import type { RestRecordType } from './record-type.ts';
import { findByExternalId, resolveReferences } from './references.ts';
import { applyLines, assertNotOverapplied } from './write-applications.ts';
import type { Values, WriteBody } from './write-body.ts';
import { writeLines } from './write-lines.ts';

export type WriteSettings = {
  pool: Pool;
  timeZone: string;
  switches: Switches;
  businessTime: () => Date;
  profile?: ProfileName | undefined;
};
export type WriteTarget = { type: RestRecordType; id: string };

const CASTS = new Map([
  ...['id', 'entity', 'currency', 'account', 'paymentmethod', 'entitystatus', ...DEFAULT_IDS].map(
    (column) => [column, 'bigint'] as const,
  ),
  ...['foreigntotal', 'exchangerate', 'creditlimit', 'baseprice'].map(
    (column) => [column, 'numeric'] as const,
  ),
  ...['trandate', 'duedate', 'shipdate'].map((column) => [column, 'date'] as const),
  ...['datecreated', 'createddate', 'lastmodifieddate'].map((column) => [column, 'timestamptz'] as const),
  ['iswritten', 'boolean'],
]);
const chooseCast = (column: string): string => CASTS.get(column) ?? 'text';

/**
 * Resolves to the new record's id. `after` runs in the same transaction. Rejects with RestError 400 for
 * invalid values or a forbidden write.
 */
export function createRecord(
  settings: WriteSettings,
  type: RestRecordType,
  body: WriteBody,
  after?: (created: RecordChange) => Promise<void>,
): Promise<string> {
  return runChange(settings, async (client, now) => {
    const values = await resolveReferences(client, type, body.values);
    assertRequiredValues(type, values, body);
    await assertExternalIdUnique(client, type, values, undefined);
    const { rows } = await client.query<{ id: string }>(
      `SELECT nextval('ledger.${chooseSequence(type)}') AS id`,
    );
    const id = rows[0]?.id ?? '';
    const row = await newRow(client, settings, type, id, now, values);
    await assertCustomerCanBuy(client, type, row.get('entity'), settings.switches);
    await assertPeriodOpen(client, type, row.get('trandate'), settings.switches);
    const columns = [...row.keys()];
    await client.query(
      `INSERT INTO ledger.${type.table} (${columns.map(quoteSqlName).join(', ')}) VALUES (${columns.map((name, i) => `$${i + 1}::${chooseCast(name)}`).join(', ')})`,
      [...row.values()],
    );
    const created = {
      client,
      type,
      id,
      now,
      replaces: new Set<string>(),
      posts: settings.profile !== undefined,
    };
    await writeParts(created, body, settings);
    await after?.(created);
    return id;
  });
}

async function newRow(
  client: PoolClient,
  { profile, timeZone }: WriteSettings,
  type: RestRecordType,
  id: string,
  now: Date,
  values: Values,
): Promise<Map<string, string | null>> {
  const defaults = defaultsFor(type, id, now, values, timeZone);
  const others = profile === undefined ? [] : await profileDefaults(client, type, values, defaults);
  const given = [...values].filter(([column, value]) => value !== null || !NOT_CLEARABLE.includes(column));
  const row = new Map([...defaults, ...others, ...given]);
  if (profile === undefined) row.delete('subsidiary'); // there is only one, and none has another
  return row;
}

/**
 * Changes only what the body contains. Rejects with RestError: as for an absent record, or 400 for invalid
 * values or a forbidden write.
 */
export function updateRecord(
  settings: WriteSettings,
  { type, id }: WriteTarget,
  body: WriteBody,
  replaces: ReadonlySet<string>,
): Promise<void> {
  return runChange(settings, async (client, now) => {
    await assertRecordExists(client, type, id);
    await assertCanChange(client, { type, id }, body.values.get('trandate'), settings.switches);
    const checked = await resolveReferences(client, type, body.values);
    const values = new Map(
      [...checked].filter(([column]) =>
        type.properties.some((p) => p.column === column && p.writes === 'always'),
      ),
    );
    await assertExternalIdUnique(client, type, values, id);
    const sets = [...values.keys()].map(
      (name, i) => `${quoteSqlName(name)} = ${keepIfNull(name, `$${i + 2}::${chooseCast(name)}`)}`,
    );
    await client.query(
      `UPDATE ledger.${type.table} SET ${[...sets, `lastmodifieddate = $${sets.length + 2}`].join(', ')} WHERE id = $1`,
      [id, ...values.values(), now],
    );
    await writeParts(
      { client, type, id, now, replaces, posts: settings.profile !== undefined },
      body,
      settings,
    );
  });
}

/**
 * Rejects with RestError: as for an absent record, or 400 when other records refer to it or its period is
 * closed.
 */
export function deleteRecord(settings: WriteSettings, { type, id }: WriteTarget): Promise<void> {
  return runChange(settings, async (client, now) => {
    await assertRecordExists(client, type, id);
    await assertCanChange(client, { type, id }, null, settings.switches);
    await assertUnused(client, type, id);
    const { table, title } = type;
    await addDeletedRecord(client, {
      table,
      id,
      scriptId: type.name.toLowerCase(),
      title,
      at: now,
      context: 'REST Web Services',
    });
    const customers = type.transactionType === undefined ? [] : await readCustomers(client, id);
    if (type.transactionType !== undefined) {
      await client.query(
        `UPDATE ledger.transaction SET status = 'B', lastmodifieddate = $2
         WHERE type = 'SalesOrd' AND status = 'G' AND id IN (SELECT createdfrom FROM ledger.transactionline WHERE transaction = $1)`,
        [id, now],
      );
      await client.query(
        `UPDATE ledger.transactionline SET quantitybilled = 0
         WHERE quantitybilled IS NOT NULL AND transaction IN (SELECT createdfrom FROM ledger.transactionline WHERE transaction = $1)`,
        [id],
      );
      await client.query('DELETE FROM ledger.transactionline WHERE transaction = $1', [id]);
      await client.query('DELETE FROM ledger.application WHERE invoice = $1 OR credit = $1', [id]);
    }
    if (type.table === 'customer') {
      for (const table of ['address', 'customersubsidiary'])
        await client.query(`DELETE FROM ledger.${table} WHERE entity = $1`, [id]);
    }
    await client.query(`DELETE FROM ledger.${type.table} WHERE id = $1`, [id]);
    if (type.transactionType !== undefined)
      await settleTransactions(client, customers, [], touchedAt(settings, now));
  });
}

/**
 * Updates the record with this external id or creates it. Resolves to its id. Rejects as `createRecord` and
 * `updateRecord` do.
 */
export async function upsertRecord(
  settings: WriteSettings,
  type: RestRecordType,
  externalId: string,
  body: WriteBody,
  replaces: ReadonlySet<string>,
): Promise<string> {
  const values: Values = new Map([...body.values, ['externalid', externalId]]);
  const find = () => findByExternalId(settings.pool, type, externalId);
  let id = await find();
  if (id === undefined) {
    try {
      return await createRecord(settings, type, { ...body, values });
    } catch (error) {
      id = await find(); // a concurrent call may have created it
      if (id === undefined) throw error;
    }
  }
  await updateRecord(settings, { type, id }, { ...body, values }, replaces);
  return id;
}

function runChange<T>(
  settings: WriteSettings,
  work: (client: PoolClient, now: Date) => Promise<T>,
): Promise<T> {
  // Read once the write lock is held, so that changes are ordered by their times.
  return inWriteTransaction(settings.pool, settings.timeZone, (client) =>
    work(client, new Date(Math.floor(settings.businessTime().getTime() / 1000) * 1000)),
  );
}

async function writeParts(change: RecordChange, body: WriteBody, settings: WriteSettings): Promise<void> {
  const { client, type, id, now, posts } = change;
  if (type.transactionType === undefined) return;
  if (body.lines) await writeLines(change, body.lines);
  if (posts) await totalTransactions(client, [id]);
  if (body.apply) await applyLines(change, body.apply, body.values.has('foreigntotal'));
  await settleTransactions(client, await readCustomers(client, id), [id], touchedAt(settings, now));
  if (posts) {
    await postTransactions(client, [id]);
    await postTransactions(client, await listPayers(client, id)); // they follow the base amount of its header
  }
  await assertNotOverapplied(change);
}

const touchedAt = (settings: WriteSettings, now: Date): Date | null =>
  settings.switches.paymentTouchesInvoice ? now : null;

const chooseSequence = (type: RestRecordType): string =>
  ({ customer: 'entity_id', item: 'item_id' })[type.table] ?? 'transaction_id';

/**
 * Columns that every record has: null leaves them unchanged, or at their default, instead of clearing them.
 */
const NOT_CLEARABLE = [
  'tranid',
  'trandate',
  'exchangerate',
  'entityid',
  'itemid',
  'isinactive',
  'foreigntotal',
  'status',
  'currency',
];
const keepIfNull = (column: string, value: string): string =>
  NOT_CLEARABLE.includes(column) ? `COALESCE(${value}, ${quoteSqlName(column)})` : value;

async function readCustomers(client: PoolClient, transaction: string): Promise<string[]> {
  const { rows } = await client.query<{ entity: string | null }>(
    'SELECT entity FROM ledger.transaction WHERE id = $1',
    [transaction],
  );
  return rows.flatMap(({ entity }) => (entity === null ? [] : [entity]));
}

async function assertRecordExists(client: PoolClient, type: RestRecordType, id: string): Promise<void> {
  const kind = type.transactionType === undefined ? '' : `AND type = '${type.transactionType}'`;
  const { rows } = await client.query(`SELECT 1 FROM ledger.${type.table} WHERE id = $1 ${kind}`, [id]);
  if (rows.length === 0) throw recordNotFound(type);
  if (id.startsWith('-')) throw USER_ERRORS.isOfSystem();
}

async function assertExternalIdUnique(
  client: PoolClient,
  type: RestRecordType,
  values: Values,
  id: string | undefined,
): Promise<void> {
  const externalId = values.get('externalid');
  if (externalId === undefined || externalId === null) return;
  const found = await findByExternalId(client, type, externalId);
  if (found !== undefined && found !== id) throw USER_ERRORS.exists();
}

/** Rejects with RestError 400 if other records refer to this one, those of held-back days included. */
async function assertUnused(client: PoolClient, type: RestRecordType, id: string): Promise<void> {
  const users: Record<string, readonly string[]> = {
    customer: ['ledger.transaction WHERE entity', 'held.transaction WHERE entity'],
    item: ['ledger.transactionline WHERE item', 'held.transactionline WHERE item'],
    transaction: [
      'ledger.application WHERE NOT isbyrule AND credit IS NOT NULL AND invoice',
      'ledger.transactionline WHERE createdfrom',
      'held.transactionline WHERE createdfrom',
    ],
  };
  for (const user of users[type.table] ?? []) {
    const { rows } = await client.query(`SELECT 1 FROM ${user} = $1 LIMIT 1`, [id]);
    if (rows.length > 0)
      throw type.transactionType === undefined ? USER_ERRORS.hasDependents() : USER_ERRORS.isLinked();
  }
}
