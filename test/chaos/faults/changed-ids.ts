// Which records of a type are other than they were, lines and calculated columns included: what answers from
// earlier books misreport.
import type { PoolClient } from 'pg';
import { getTable, transactionTypes } from '../books.ts';
import type { RecordTypeName } from '../plan-names.ts';
import { type Ending, type FaultStage, findLinesTable } from './fault.ts';

type Prints = ReadonlyMap<string, string>;

async function readPrints(client: PoolClient, recordType: RecordTypeName): Promise<Prints> {
  const type = transactionTypes[recordType];
  const lines = findLinesTable(recordType);
  const parent = lines === 'transactionline' ? 'transaction' : 'nextdoc';
  const linesSql =
    lines === null
      ? `''`
      : `(select string_agg(l::text, ',' order by l::text) from suiteql.${lines} l where l.${parent} = v.id)`;
  const { rows } = await client.query<{ id: string; print: string }>(
    `select v.id::text as id, md5(concat(v::text, ${linesSql})) as print from suiteql.${getTable(recordType)} v
     where ${type === undefined ? 'true' : `v.type = '${type}'`}`,
  );
  return new Map(rows.map(({ id, print }) => [id, print]));
}

/** Always as of the same moment, so that time alone changes nothing. */
async function printsAt({ fixture }: FaultStage, recordType: RecordTypeName, now: Date): Promise<Prints> {
  const client = await fixture.books.pool.connect();
  try {
    await client.query('begin isolation level repeatable read read only');
    await client.query(
      `select set_config('search_path', 'suiteql,pg_catalog', true), set_config('netsuite.now', $1, true),
        set_config('netsuite.date_mask', 'FMMM/FMDD/YYYY', true), set_config('netsuite.deleted_time', 'on', true)`,
      [now.toISOString()],
    );
    return await readPrints(client, recordType);
  } finally {
    await client.query('rollback').finally(() => client.release());
  }
}

/** Adds to `ids` whatever changes from now on, until the ending. */
export async function watchChangedIds(
  stage: FaultStage,
  recordType: RecordTypeName,
  ids: Set<string>,
): Promise<Ending> {
  const now = stage.fixture.account.businessTime();
  const before = await printsAt(stage, recordType, now);
  const look = async (): Promise<void> => {
    const after = await printsAt(stage, recordType, now);
    for (const id of new Set([...before.keys(), ...after.keys()]))
      if (before.get(id) !== after.get(id)) ids.add(id);
  };
  const stop = stage.watchChanges(look);
  return async () => {
    stop();
    await look();
  };
}
