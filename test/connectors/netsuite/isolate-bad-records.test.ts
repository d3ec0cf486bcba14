import { describe, expect, it } from 'vitest';
import { ErpError } from '../../../src/connectors/connector.ts';
import { askApart } from '../../../src/connectors/netsuite/ask-apart.ts';

const ids = Array.from({ length: 1_000 }, (_unused, n) => String(n + 1));
const spoilt = new ErpError('answer', 'ANSWER_MALFORMED', 'broken', { fix: 'Mend it.' });
function asker(bad: ReadonlySet<string>) {
  const asked: number[] = [];
  const ask = async (some: readonly string[]) => {
    asked.push(some.length);
    if (some.some((id) => bad.has(id))) throw spoilt;
    return some;
  };
  return { ask, asked };
}

describe('records that spoil every answer', () => {
  it('are found with few questions, the others come in order', async () => {
    const { ask, asked } = asker(new Set(['7', '912']));
    const parts = await askApart(ids, ask);
    expect(parts.flatMap(({ found }) => found ?? [])).toEqual(ids.filter((id) => id !== '7' && id !== '912'));
    expect(parts.filter(({ found }) => found === null)).toEqual([7, 912].map((id) => ({ found: null, id: String(id), reason: 'broken' })));
    expect(asked.length).toBeLessThan(45);
  });

  it('more than fifty of a page are no matter of single records', async () => {
    await expect(askApart(ids, asker(new Set(ids)).ask)).rejects.toBe(spoilt);
    const parts = await askApart(ids, asker(new Set(ids.slice(0, 50))).ask);
    expect(parts.filter(({ found }) => found === null)).toHaveLength(50);
  });

  it('an outage in between is an outage', async () => {
    const down = new ErpError('down', 'SERVER_ERROR', 'down', { fix: 'Wait.' });
    let left = 5;
    const ask = async () => {
      left -= 1;
      throw left < 0 ? down : spoilt;
    };
    await expect(askApart(ids, ask)).rejects.toBe(down);
  });
});
