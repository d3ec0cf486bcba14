// Records whose key has several columns, such as the lines of the ledger, read from a simulated account with
// a whole company.
import { describe, expect, it } from 'vitest';
import { listIds, openAccount } from '../connectors/netsuite/simulated-account.ts';
import { describeType, postingLine } from '../connectors/netsuite/stored-types.ts';
import { signal } from '../connectors/netsuite/wire.ts';
import { profile } from '../setup/account-profile.ts';
import { useStarted } from '../setup/use-started.ts';

const company = useStarted(() => openAccount({ profile: profile ?? 'single' }));

const readNumber = async (query: string): Promise<number> => Number((await company.first(query))[0]);

const interest = describeType(
  'map_customer_custentity_interests',
  { mapone: 'integer', maptwo: 'integer' },
  {
    table: 'map_customer_custentity_interests',
    key: [
      { column: 'mapone', digits: 9 },
      { column: 'maptwo', digits: 9 },
    ],
  },
);
const posting = postingLine(5);
const postingId = 'v.transaction * 10000000 + v.transactionline * 100 + v.accountingbook';

describe('a key of several columns', () => {
  it('makes one id of them', async () => {
    const { records, rejected } = await company.readAll(interest, { limit: 300 });
    expect(rejected).toEqual([]);
    expect(records.map(({ id, values }) => [id, values['mapone'], values['maptwo']])).toEqual(
      await company.truth(
        `v.mapone * 1000000000 + v.maptwo, v.mapone, v.maptwo from suiteql.map_customer_custentity_interests v order by v.mapone, v.maptwo`,
      ),
    );
    expect(await company.listAll(interest)).toEqual(listIds({ records }));
  });

  it('pages the ledger completely, at the rate of one request per page', async () => {
    const before = company.requests();
    const { records, rejected } = await company.readAll(posting);
    const expected = await readNumber('count(*) from suiteql.transactionaccountingline');
    expect(rejected).toEqual([]);
    expect(records).toHaveLength(expected);
    expect(company.requests() - before).toBe(Math.ceil(expected / 1_000));
    expect(await company.connector.count(posting, signal)).toBe(expected);
    const ids = listIds({ records });
    const range = { afterId: ids[123] ?? '', upTo: ids[1_456] ?? '' };
    expect(await company.connector.count(posting, signal, range)).toBe(1_456 - 123);
    const since = new Date('2000-01-01T00:00:00Z');
    const counted = await company.connector.countChanged?.({ recordType: posting, since, signal, range });
    expect(counted?.records).toBe(1_456 - 123);
    const computeId = (values: Readonly<Record<string, string | null | undefined>>): bigint => {
      const part = (name: string): bigint => BigInt(values[name] ?? '');
      return part('transaction') * 10_000_000n + part('transactionline') * 100n + part('accountingbook');
    };
    expect(records.filter(({ id, values }) => BigInt(id) !== computeId(values))).toEqual([]);
    expect(new Set(listIds({ records })).size).toBe(expected);
    const cents = records.reduce((sum, { values }) => sum + Math.round(Number(values['amount']) * 100), 0);
    expect(cents).toBe(
      await readNumber('round(sum(v.amount) * 100) from suiteql.transactionaccountingline v'),
    );
  });

  it('reads by id what still exists, and by the transaction what changed', async () => {
    const ids = await company.first(
      `${postingId} from suiteql.transactionaccountingline v where v.transactionline % 7 = 3 order by 1 limit 999`,
    );
    const absent = '990000000000000001';
    const page = await company.readByIds(posting, ['account', 'amount'], [...ids, absent]);
    expect(listIds(page)).toEqual(ids);
    const request = { recordType: posting, fields: ['account'], ids: [absent, ...ids.slice(0, 10)], signal };
    expect(listIds(await company.connector.scan(request))).toEqual(ids.slice(0, 10));
    const [[id, count] = []] = await company.truth(
      'v.transaction, count(*) from suiteql.transactionaccountingline v group by 1 order by 2 desc, 1 limit 1',
    );
    const since = await company.connector.now(signal);
    await company.edit('transaction', id, { memo: 'changed' });
    const { records } = await company.readAll(posting, { limit: 100, changedSince: since });
    expect(records).toHaveLength(Number(count));
    expect(new Set(records.map(({ values }) => values['transaction']))).toEqual(new Set([id]));
    const earliest = since.getTime() - 1_000;
    const stale = records.filter(
      ({ modifiedAt }) => modifiedAt === null || !(Date.parse(modifiedAt) >= earliest),
    );
    expect(stale).toEqual([]);
    const changed = { records: Number(count), withChangedLines: null };
    expect(await company.countChanged(posting, since)).toEqual(changed);
  });

  it('rejects each row with a part that doesn’t fit, wherever a page ends, and keeps the others', async () => {
    const some = await company.first(
      'v.transaction from suiteql.transactionaccountingline v group by 1 having max(v.transactionline) between 11 and 14 order by 1 limit 8',
    );
    expect(some).toHaveLength(8);
    const short = postingLine(
      1,
      `(SELECT * FROM transactionaccountingline WHERE transaction IN (${some.join()}))`,
    );
    const rows = await company.truth(
      `v.transaction, v.transactionline, v.accountingbook from suiteql.transactionaccountingline v where v.transaction in (${some.join()}) order by 1, 2, 3`,
    );
    const isLong = ([, line]: (string | null)[]): boolean => String(line).length > 1;
    for (const limit of [11, 12, 13, 1_000]) {
      const { records, rejected } = await company.readAll(short, { limit });
      expect(rejected.map(({ id }) => id)).toEqual(rows.filter(isLong).map((row) => row.join('/')));
      expect(rejected[0]).toMatchObject({
        code: 'ID_NOT_INTEGER',
        message: expect.stringMatching(/transactionline/),
      });
      expect(records).toHaveLength(rows.length - rejected.length);
      expect(await company.listAll(short, { limit })).toHaveLength(rows.length);
    }
  });
});
