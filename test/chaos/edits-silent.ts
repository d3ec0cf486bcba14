// Edits that leave no new modification time on the record, and those with an old one: what scripts, mass
// updates and corrections of an ERP's vendor do. `silent-changes.ts` notes for the oracle when each must be
// seen.
import { createRecordLike } from '../../packages/netsuite-simulator/src/control/records/create-record.ts';
import { getModifiedColumn, getTable, type HeaderTable, textColumns, transactionTypes } from './books.ts';
import {
  accountTable,
  bySql,
  type Edit,
  everything,
  isOfType,
  pickId,
  pickIdFrom,
  type Scene,
  word,
} from './edit-scene.ts';
import { genericTypes } from './plan-names.ts';
import type { Random } from './random.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

type Column = readonly [name: string, value: (random: Random) => string];
const day = (random: Random): string => `2011-0${random.between(1, 9)}-${random.between(10, 28)}`;
const flag = (random: Random): string => random.pick(['T', 'F']);
const amount = (random: Random): string => (random.between(1, 99_999) / 100).toFixed(2);
const id = (random: Random): string => String(random.between(1, 9));
const names = (list: string): Column[] => list.split(' ').map((name): Column => [name, word]);

/** Columns of the base tables that the account's rules don't compute. */
const headerColumns: Readonly<Record<HeaderTable, readonly Column[]>> = {
  customer: [
    ...names('entityid companyname firstname lastname email phone url comments'),
    ...[['isinactive', flag] as const, ['creditlimit', amount] as const, ['terms', id] as const],
  ],
  item: [
    ...names('itemid displayname salesdescription upccode'),
    ['baseprice', amount],
    ['isinactive', flag],
  ],
  transaction: [
    ...names('tranid memo otherrefnum'),
    ['duedate', day],
    ['trandate', day],
    ['shipdate', day],
    ['posting', flag],
    ['terms', id],
  ],
  customrecord_complaint: [...names('name'), ['isinactive', flag]],
};
/** Columns that the account keeps in `extra`: dates, flags and texts. */
const extraColumns: Readonly<Record<HeaderTable, readonly Column[]>> = {
  customer: [...names('altphone fax'), ['startdate', day]],
  item: [],
  transaction: [...names('email source'), ['voided', flag]],
  customrecord_complaint: names('custrecord_complaint_text'),
};

/** Any field of any header. */
const changeField: Edit = async (scene) => {
  const { random } = scene;
  const recordType = random.pick(scene.recordTypes);
  const table = getTable(recordType);
  const id = await pickIdFrom(
    scene,
    `select v.id::text as id from ledger.${table} v where ${isOfType(recordType, 'v')} order by v.id`,
  );
  const isExtra = extraColumns[table].length > 0 && random.chance(0.3);
  const [name, draw] = random.pick((isExtra ? extraColumns : headerColumns)[table]);
  const value = draw(random);
  await bySql(scene, (client) =>
    isExtra
      ? client.query(
          `update ledger.${table} set extra = coalesce(extra, '{}') || jsonb_build_object($2::text, $3::text) where id = $1`,
          [id, name, value],
        )
      : client.query(
          `update ledger.${table} set ${name} = ($2::jsonb ->> 0)::${chooseType(name)} where id = $1`,
          [id, JSON.stringify([value])],
        ),
  );
};
const chooseType = (column: string): string => {
  if (/date$/.test(column)) return 'date';
  return /price|limit/.test(column) ? 'numeric' : column === 'terms' ? 'bigint' : 'text';
};

const openInvoice = `select id::text as id from ledger.transaction where type = 'CustInvc' and entity is not null and foreignamountunpaid > 1 order by id`;
const closedDocument = `select id::text as id from ledger.transaction where type in ('CustInvc', 'CustCred') and foreignamountunpaid = 0
  and foreigntotal <> 0 order by id`;

/** The amount due of an open invoice. */
const changeAmount: Edit = async (scene) => {
  const id = await pickIdFrom(scene, openInvoice);
  await bySql(scene, (client) =>
    client.query(
      `update ledger.transaction set foreignamountpaid = coalesce(foreignamountpaid, 0) + 0.25, foreignamountunpaid = foreignamountunpaid - 0.25
       where id = $1 and foreignamountunpaid > 1`,
      [id],
    ),
  );
};

/** A closed document is open again, in whole or in part, or was closed on another day. */
const reopen: Edit = async (scene) => {
  const id = await pickIdFrom(scene, closedDocument);
  const share = scene.random.pick([0, 0.5, 1]);
  await bySql(scene, (client) =>
    client.query(
      `update ledger.transaction set foreignamountunpaid = round(foreigntotal * $2::numeric, 2),
         foreignamountpaid = foreigntotal - round(foreigntotal * $2::numeric, 2),
         status = case when round(foreigntotal * $2::numeric, 2) = 0 then 'B' else 'A' end,
         closedate = case when round(foreigntotal * $2::numeric, 2) = 0 then closedate - 1 end where id = $1`,
      [id, share],
    ),
  );
};

type Line = { readonly uniquekey: string; readonly transaction: string };

/** A line of an item, in a document of any size. */
async function anyLine({ books, random, recordTypes }: Scene): Promise<Line> {
  const types = [
    'CustInvc',
    'CustCred',
    ...genericTypes.flatMap((name) => (recordTypes.includes(name) ? (transactionTypes[name] ?? []) : [])),
  ];
  const { rows } = await books.pool.query<Line>(
    `select l.uniquekey::text, l.transaction::text from ledger.transactionline l join ledger.transaction t on t.id = l.transaction
     where t.type = any($1::text[]) and l.mainline = 'F' order by l.uniquekey`,
    [types],
  );
  return random.pick(rows);
}

const changeLine =
  (sql: (random: Random) => string): Edit =>
  async (scene) => {
    const { uniquekey } = await anyLine(scene);
    const set = sql(scene.random);
    await bySql(scene, (client, now) =>
      client.query(
        `update ledger.transactionline set ${set.replaceAll('$now', '$2::timestamptz')} where uniquekey = $1 and $2::timestamptz is not null`,
        [uniquekey, now],
      ),
    );
  };

const changeLineAmount = changeLine((random) =>
  random.pick([
    'quantity = coalesce(quantity, 0) - 1',
    'netamount = coalesce(netamount, 0) - 0.01, foreignamount = foreignamount - 0.01',
    'quantity = quantity * 2, netamount = netamount * 2, foreignamount = foreignamount * 2',
  ]),
);
/** Fields that no sum contains. */
const changeLineText = changeLine((random) =>
  random.pick([
    `memo = '${word(random)}'`,
    'rate = coalesce(rate, 0) + 0.01',
    'item = case item when 1 then 2 else 1 end',
  ]),
);
const changeLineTime = changeLine((random) => `memo = '${word(random)}', linelastmodifieddate = $now`);

const addLine: Edit = async (scene) => {
  const { uniquekey, transaction } = await anyLine(scene);
  await bySql(scene, (client) =>
    client.query(
      `insert into ledger.transactionline select (jsonb_populate_record(null::ledger.transactionline, to_jsonb(l) || jsonb_build_object(
         'uniquekey', nextval('ledger.line_key'),
         'id', (select max(id) + 1 from ledger.transactionline where transaction = $2),
         'linesequencenumber', (select max(linesequencenumber) + 1 from ledger.transactionline where transaction = $2)))).*
       from ledger.transactionline l where l.uniquekey = $1`,
      [uniquekey, transaction],
    ),
  );
};
const removeLine: Edit = async (scene) => {
  const { uniquekey } = await anyLine(scene);
  await bySql(scene, (client) =>
    client.query('delete from ledger.transactionline where uniquekey = $1', [uniquekey]),
  );
};

/** Edited a while ago, and visible only now: as when a clock is set back, or a change is committed late. */
const restamp: Edit = async (scene) => {
  const { random } = scene;
  const recordType = random.pick(scene.recordTypes);
  const table = getTable(recordType);
  const id = await pickIdFrom(
    scene,
    `select v.id::text as id from ledger.${table} v where ${isOfType(recordType, 'v')} order by v.id`,
  );
  const column = textColumns[table];
  const [text, ageMs] = [word(random), random.between(0, 59) * minuteMs];
  await bySql(scene, (client, now) =>
    client.query(
      `update ledger.${table} set ${column} = $2, ${getModifiedColumn(table)} = $3 where id = $1`,
      [id, text, new Date(now.getTime() - ageMs)],
    ),
  );
};

/** Like an existing record, days old, as an import does it. */
const insertOld: Edit = async (scene) => {
  const { random } = scene;
  const recordType = random.pick(scene.recordTypes.filter((name) => name !== 'customerPayment'));
  const like = await pickId(scene, recordType);
  const ageMs = random.between(1, 40) * dayMs;
  const record = accountTable(recordType);
  await bySql(scene, async (client, now) => {
    const at = new Date(now.getTime() - ageMs);
    const id = await createRecordLike(client, everything, record, { like }, at);
    if (record.hasLines)
      await client.query(
        'update ledger.transactionline set linelastmodifieddate = $2 where transaction = $1',
        [id, at],
      );
  });
};

export const silentEdits = {
  'silent-field': changeField,
  'silent-amount': changeAmount,
  'silent-reopen': reopen,
  'silent-line-amount': changeLineAmount,
  'silent-line-text': changeLineText,
  'silent-line-added': addLine,
  'silent-line-removed': removeLine,
  'line-time': changeLineTime,
  'insert-old': insertOld,
  restamp,
} as const satisfies Readonly<Record<string, Edit>>;
