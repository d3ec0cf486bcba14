// Makes, changes and deletes records, each with everything that follows from it in one transaction: lines, totals, what is applied to
// what, paid and unpaid amounts, and the row in deletedrecord.
import type { Pool, PoolClient } from 'pg';
import { inWrite } from '../database/in-write.ts';
import { settleSome } from '../load/settle.ts';
import type { Switches } from '../switches.ts';
import { quote } from '../tables/table.ts';
import { defaultsFor, requireValues } from './defaults.ts';
import type { RecordType } from './record-types.ts';
import { checkReferences, findByExternalId } from './references.ts';
import { noInstance, REFUSED } from './refusals.ts';
import { refuseChange, refuseClosed, refuseOwner } from './refuse-by-state.ts';
import { applyLines, checkApplied } from './write-applications.ts';
import type { Values, WriteBody } from './write-body.ts';
import { writeLines } from './write-lines.ts';

export type WriteSettings = { pool: Pool; timeZone: string; switches: Switches; businessTime: () => Date };
/** What a change works with: `now` is business time to the second. */
export type Change = { client: PoolClient; type: RecordType; id: string; now: Date; replaces: ReadonlySet<string> };
export type WriteTarget = { type: RecordType; id: string };

const CASTS = new Map([
  ...['id', 'entity', 'currency', 'account', 'paymentmethod', 'entitystatus'].map((column) => [column, 'bigint'] as const),
  ...['foreigntotal', 'exchangerate', 'creditlimit', 'baseprice'].map((column) => [column, 'numeric'] as const),
  ...['trandate', 'duedate', 'shipdate'].map((column) => [column, 'date'] as const),
  ...['datecreated', 'createddate', 'lastmodifieddate'].map((column) => [column, 'timestamptz'] as const),
  ['iswritten', 'boolean'],
]);
const castOf = (column: string): string => CASTS.get(column) ?? 'text';

/** Returns the new record's id. `after` adds to the same transaction. */
export function createRecord(
  settings: WriteSettings,
  type: RecordType,
  body: WriteBody,
  after?: (made: Change) => Promise<void>,
): Promise<string> {
  return change(settings, async (client, now) => {
    const values = await checkReferences(client, type, body.values);
    requireValues(type, values, body);
    await checkExternalId(client, type, values, undefined);
    const { rows } = await client.query<{ id: string }>(`SELECT nextval('ledger.${sequenceOf(type)}') AS id`);
    const id = rows[0]?.id ?? '';
    const row = new Map([...defaultsFor(type, id, now, values, settings.timeZone), ...values]);
    await refuseOwner(client, type, row.get('entity'), settings.switches);
    refuseClosed(type, row.get('trandate'), settings.switches);
    row.delete('subsidiary'); // there is but one
    const columns = [...row.keys()];
    await client.query(
      `INSERT INTO ledger.${type.table} (${columns.map(quote).join(', ')}) VALUES (${columns.map((name, i) => `$${i + 1}::${castOf(name)}`).join(', ')})`,
      [...row.values()],
    );
    const made = { client, type, id, now, replaces: new Set<string>() };
    await writeParts(made, body, settings);
    await after?.(made);
    return id;
  });
}

/** Changes what the body names and nothing else. */
export function changeRecord(
  settings: WriteSettings,
  { type, id }: WriteTarget,
  body: WriteBody,
  replaces: ReadonlySet<string>,
): Promise<void> {
  return change(settings, async (client, now) => {
    await requireRecord(client, type, id);
    await refuseChange(client, { type, id }, body.values.get('trandate'), settings.switches);
    const checked = await checkReferences(client, type, body.values);
    const values = new Map([...checked].filter(([column]) => type.properties.some((p) => p.column === column && p.writes === 'always')));
    await checkExternalId(client, type, values, id);
    const sets = [...values.keys()].map((name, i) => `${quote(name)} = ${orAsItWas(name, `$${i + 2}::${castOf(name)}`)}`);
    await client.query(`UPDATE ledger.${type.table} SET ${[...sets, `lastmodifieddate = $${sets.length + 2}`].join(', ')} WHERE id = $1`, [
      id,
      ...values.values(),
      now,
    ]);
    await writeParts({ client, type, id, now, replaces }, body, settings);
  });
}

export function removeRecord(settings: WriteSettings, { type, id }: WriteTarget): Promise<void> {
  return change(settings, async (client, now) => {
    await requireRecord(client, type, id);
    await refuseChange(client, { type, id }, null, settings.switches);
    await requireUnused(client, type, id);
    const nameColumn = { customer: 'entityid', item: 'itemid' }[type.table] ?? 'tranid';
    await client.query(
      `INSERT INTO ledger.deletedrecord (recordid, recordtypeid, scriptid, name, type, context, deleteddate, iscustomlist, iscustomrecord, iscustomtransaction)
       SELECT id, $5, $2, ${nameColumn}, $3, 'REST Web Services', $4, 'F', 'F', 'F' FROM ledger.${type.table} WHERE id = $1`,
      [id, type.name.toLowerCase(), type.title, now, RECORD_TYPE_IDS[type.table] ?? null],
    );
    const customers = type.transactionType === undefined ? [] : await customersOf(client, id);
    if (type.transactionType !== undefined) {
      await client.query(
        `UPDATE ledger.transaction SET status = 'B', lastmodifieddate = $2
         WHERE type = 'SalesOrd' AND status = 'G' AND id IN (SELECT createdfrom FROM ledger.transactionline WHERE transaction = $1)`,
        [id, now],
      );
      await client.query('DELETE FROM ledger.transactionline WHERE transaction = $1', [id]);
      await client.query('DELETE FROM ledger.application WHERE invoice = $1 OR credit = $1', [id]);
    }
    await client.query(`DELETE FROM ledger.${type.table} WHERE id = $1`, [id]);
    if (type.transactionType !== undefined) await settleSome(client, customers, [], touch(settings, now));
  });
}

/** Changes the record with this external id, or makes it. Returns its id. */
export async function putRecord(
  settings: WriteSettings,
  type: RecordType,
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
      id = await find(); // another call may have been faster
      if (id === undefined) throw error;
    }
  }
  await changeRecord(settings, { type, id }, { ...body, values }, replaces);
  return id;
}

function change<T>(settings: WriteSettings, work: (client: PoolClient, now: Date) => Promise<T>): Promise<T> {
  // Time is read when it is this change's turn, so that the order of changes is the order of their times.
  return inWrite(settings.pool, settings.timeZone, (client) =>
    work(client, new Date(Math.floor(settings.businessTime().getTime() / 1000) * 1000)),
  );
}

async function writeParts(change: Change, body: WriteBody, settings: WriteSettings): Promise<void> {
  const { client, type, id, now } = change;
  if (type.transactionType === undefined) return;
  if (body.lines) await writeLines(change, body.lines);
  if (body.apply) await applyLines(change, body.apply, body.values.has('foreigntotal'));
  await settleSome(client, await customersOf(client, id), [id], touch(settings, now));
  await checkApplied(change);
}

const touch = (settings: WriteSettings, now: Date): Date | null => (settings.switches.paymentTouchesInvoice ? now : null);

const sequenceOf = (type: RecordType): string => ({ customer: 'entity_id', item: 'item_id' })[type.table] ?? 'transaction_id';

/** As deletedrecord.recordtypeid has them. */
const RECORD_TYPE_IDS: Record<string, number> = { customer: -2, item: -10, transaction: -30 };

/** Null clears a property, but not one that every record has. */
const LASTING = ['tranid', 'trandate', 'exchangerate', 'entityid', 'itemid', 'isinactive', 'foreigntotal', 'status', 'currency'];
const orAsItWas = (column: string, value: string): string => (LASTING.includes(column) ? `COALESCE(${value}, ${quote(column)})` : value);

async function customersOf(client: PoolClient, transaction: string): Promise<string[]> {
  const { rows } = await client.query<{ entity: string | null }>('SELECT entity FROM ledger.transaction WHERE id = $1', [transaction]);
  return rows.flatMap(({ entity }) => (entity === null ? [] : [entity]));
}

async function requireRecord(client: PoolClient, type: RecordType, id: string): Promise<void> {
  const kind = type.transactionType === undefined ? '' : `AND type = '${type.transactionType}'`;
  const { rows } = await client.query(`SELECT 1 FROM ledger.${type.table} WHERE id = $1 ${kind}`, [id]);
  if (rows.length === 0) throw noInstance(type);
}

async function checkExternalId(client: PoolClient, type: RecordType, values: Values, id: string | undefined): Promise<void> {
  const externalId = values.get('externalid');
  if (externalId === undefined || externalId === null) return;
  const found = await findByExternalId(client, type, externalId);
  if (found !== undefined && found !== id) throw REFUSED.exists();
}

/** What others name stays, as long as they do; rows of days to come count too. */
async function requireUnused(client: PoolClient, type: RecordType, id: string): Promise<void> {
  const users: Record<string, readonly string[]> = {
    customer: ['ledger.transaction WHERE entity', 'held.transaction WHERE entity'],
    item: ['ledger.transactionline WHERE item', 'held.transactionline WHERE item'],
    transaction: ['ledger.application WHERE NOT isbyrule AND invoice', 'ledger.transactionline WHERE createdfrom'],
  };
  for (const user of users[type.table] ?? []) {
    const { rows } = await client.query(`SELECT 1 FROM ${user} = $1 LIMIT 1`, [id]);
    if (rows.length > 0) throw type.transactionType === undefined ? REFUSED.hasDependents() : REFUSED.isLinked();
  }
}
