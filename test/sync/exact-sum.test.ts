// Sums of decimals, compared with PostgreSQL's exact numerics.
import { expect, it } from 'vitest';
import { sumsUpTo } from '../../src/sync/prove/exact-sum.ts';
import { useDatabase } from '../setup/use-database.ts';

const database = useDatabase();

it.each([
  ['cents', 5, '(random() * 2e6 - 1e6)::numeric(12, 2)'],
  [
    'as many decimals as a number holds exactly, and one more',
    40,
    '(random() * 2e7 - 1e7)::numeric(16, 6) + (random() < 0.5)::int * 0.0000001',
  ],
  ['long numbers', 3, `(random() * 1e18)::numeric(38, 0) * 1e20 + random()::numeric`],
  ['many values', 1_200, '(random() * 2e7 - 1e7)::numeric(16, 6)'],
])('%s: is true for the exact sum, and for no other', async (_name, count, sql) => {
  const { rows } = await database.ctx.db.data.query<{ values: string[]; total: string; scale: number }>(
    `select array_agg(v::text) as values, sum(v)::text as total, scale(sum(v)) as scale
     from generate_series(1, 50) s(n), lateral (select ${sql} as v from generate_series(1, $1 + n * 0)) x group by n`,
    [count],
  );
  expect(rows).toHaveLength(50);
  for (const { values, total, scale } of rows) {
    expect(sumsUpTo(values, total), `${values} = ${total}`).toBe(true);
    const smallest = scale === 0 ? '1' : `0.${'1'.padStart(scale, '0')}`;
    expect(sumsUpTo([...values, smallest], total), `${values} and ${smallest} <> ${total}`).toBe(false);
  }
});

it('is false where a value is no decimal', () => {
  for (const value of ['', ' ', 'NaN', '1e3', '1,5', '0x10']) {
    expect(sumsUpTo([value], '0')).toBe(false);
    expect(sumsUpTo(['0'], value)).toBe(false);
  }
});

it('no values add up to zero, however it is written', () => {
  expect(['0', '0.00', '-0'].map((total) => sumsUpTo([], total))).toEqual([true, true, true]);
});
