// Numbers keep every digit, as text.
import { beforeAll, describe, expect, it } from 'vitest';
import { useClient } from './simulated.ts';

const world = useClient({ profile: 'generic' });
const DECIMAL = '123456789012345678901234567.0123456789';
beforeAll(() => {
  world.simulator.records.put(
    { table: 'Things', id: '1' },
    {
      fields: { ADecimal: DECIMAL, AnInt64: '9223372036854775807', AByte: 255, ADouble: 'INF', ASingle: 1.5 },
    },
  );
});
const numbers = 'Things(1)?$select=ADecimal,AnInt64,AByte,ADouble,ASingle';
const bare = 'application/json;odata.metadata=none';

describe('numbers', () => {
  it('are JSON numbers with all their digits', async () => {
    const { text } = await world.get(numbers, { accept: bare });
    expect(text).toBe(
      `{"ADecimal":${DECIMAL},"AnInt64":9223372036854775807,"AByte":255,"ADouble":"INF","ASingle":1.5}`,
    );
  });

  it('of Decimal and Int64 are strings with IEEE754Compatible', async () => {
    const { text, headers } = await world.get(numbers, { accept: `${bare};IEEE754Compatible=true` });
    expect(text).toBe(
      `{"ADecimal":"${DECIMAL}","AnInt64":"9223372036854775807","AByte":255,"ADouble":"INF","ASingle":1.5}`,
    );
    expect(headers.get('content-type')).toContain('IEEE754Compatible=true');
  });

  it('of a count are strings then, too', async () => {
    const { body } = await world.get('Things?$count=true', { accept: `${bare};IEEE754Compatible=true` });
    expect(body['@count']).toBe('1');
  });

  it('that JavaScript would round have to be given as texts', () => {
    const put = (fields: object) => () =>
      world.simulator.records.patch({ table: 'Things', id: '1' }, { fields: { ...fields } });
    expect(put({ AnInt64: 2 ** 60 })).toThrow('must be a value of Edm.Int64');
    expect(put({ ADecimal: 'a' })).toThrow('must be a value of Edm.Decimal');
    expect(put({ ADate: '2024-13-01' })).toThrow('must be a value of Edm.Date');
    expect(put({ Unknown: 1 })).toThrow('is an unknown field');
  });

  it('sums of generated lines are exact', () => {
    world.simulator.records.generate({ table: 'Orders' }, { count: 20, seed: 3, lines: 5 });
    const { records } = world.simulator.records.list({ table: 'Orders' }, { limit: 100 });
    const toUnits = (text: unknown): bigint => {
      const [whole = '', fraction = ''] = String(text ?? '0').split('.');
      return BigInt(`${whole}${fraction.padEnd(4, '0')}`);
    };
    for (const { fields, lines = [] } of records)
      expect(toUnits(fields['Total'])).toBe(
        lines.reduce((total, line) => total + toUnits(line.fields['Amount']), 0n),
      );
    expect(records).toHaveLength(20);
  });
});
