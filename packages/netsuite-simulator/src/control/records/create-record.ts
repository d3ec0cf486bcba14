// Creates a record like another, or an empty one: same values and lines; an id, a document number or name,
// and times of its own. No money is applied to it.
import type { PoolClient } from 'pg';
import { z } from 'zod';
import type { RoleVisibility } from '../../tables/role-visibility.ts';
import { getNameColumn, quoteSqlName } from '../../tables/table.ts';
import { invalid } from '../control-error.ts';
import { IdText } from '../parse.ts';
import { editRecord, GivenFields } from './edit-record.ts';
import type { RecordTable } from './record-tables.ts';

/** Without `like` it starts empty, which only works for records that aren't transactions. */
export const NewRecord = z.strictObject({ like: IdText.optional(), fields: GivenFields.optional() });
export type NewRecord = z.output<typeof NewRecord>;

type Values = Record<string, unknown>;

/** Resolves to the new id. Throws ControlError 422 for an unknown `like` and for bad values. */
export async function createRecordLike(
  client: PoolClient,
  role: RoleVisibility,
  record: RecordTable,
  { like, fields = {} }: NewRecord,
  now: Date,
): Promise<string> {
  const { table, created, modified } = record;
  const id = await nextId(client, record);
  const model = like === undefined ? emptyValues(record) : await readModel(client, table.name, like);
  const name = getNameColumn(table.name);
  const values: Values = {
    ...model,
    id,
    externalid: null,
    [modified]: now,
    ...(created && { [created]: now }),
    [name]: newName(model[name], id),
  };
  if (table.name === 'transaction') Object.assign(values, unpaid(model));
  await insertRow(client, table.name, values);
  if (record.hasLines && like !== undefined) await copyLines(client, like, id, now);
  // An amount that is given is unpaid, unless what is unpaid is given too.
  const { foreigntotal } = fields;
  const amounts =
    table.name === 'transaction' && foreigntotal !== undefined ? { foreignamountunpaid: foreigntotal } : {};
  await editRecord(client, role, record, id, { fields: { ...amounts, ...fields }, touch: 'none' }, now);
  return id;
}

async function nextId(client: PoolClient, { table, sequence }: RecordTable): Promise<string> {
  const next =
    sequence === undefined
      ? `(SELECT COALESCE(max(id), 0) + 1 FROM ledger.${table.name})`
      : `nextval('${sequence}')`;
  const { rows } = await client.query<{ id: string }>(`SELECT ${next} AS id`);
  return rows[0]?.id ?? '';
}

async function readModel(client: PoolClient, table: string, like: string): Promise<Values> {
  const { rows } = await client.query<{ content: Values }>(
    `SELECT to_jsonb(b) AS content FROM ledger.${table} b WHERE id = $1`,
    [like],
  );
  if (!rows[0])
    throw invalid({ path: 'like', message: `is ${like}, and the account has no ${table} with this id` });
  return rows[0].content;
}

function emptyValues({ table, hasLines }: RecordTable): Values {
  if (hasLines) throw invalid({ path: 'like', message: 'is required' });
  const flags = {
    isinactive: 'F',
    subsidiary: 1,
    ...(table.name === 'item' ? { itemtype: 'InvtPart' } : { isperson: 'F' }),
  };
  return table.name === 'customer' ? { ...flags, currency: 1 } : flags;
}

/** Names stay recognizable, and document numbers stay numbers. */
const newName = (name: unknown, id: string): string =>
  typeof name !== 'string' || /^\d+$/.test(name) ? id : `${name}-${id}`;

/** Open, with nothing applied to it; `iswritten` keeps the rules from paying it. */
const unpaid = ({ type, foreigntotal, status }: Values): Values => ({
  foreignamountpaid: foreigntotal === undefined ? null : 0,
  foreignamountunpaid: foreigntotal,
  status: type === 'CustInvc' || type === 'CustCred' ? 'A' : status,
  closedate: null,
  iswritten: true,
});

async function insertRow(client: PoolClient, table: string, values: Values): Promise<void> {
  await client.query(
    `INSERT INTO ledger.${quoteSqlName(table)} SELECT (jsonb_populate_record(NULL::ledger.${quoteSqlName(table)}, $1)).*`,
    [JSON.stringify(values)],
  );
}

async function copyLines(client: PoolClient, from: string, to: string, now: Date): Promise<void> {
  await client.query(
    `INSERT INTO ledger.transactionline SELECT (jsonb_populate_record(NULL::ledger.transactionline, to_jsonb(l) ||
       jsonb_build_object('uniquekey', nextval('ledger.line_key'), 'transaction', $2::bigint, 'linelastmodifieddate', $3::timestamptz))).*
     FROM (SELECT * FROM ledger.transactionline WHERE transaction = $1 ORDER BY linesequencenumber) l`,
    [from, to, now],
  );
}
