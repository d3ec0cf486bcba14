import { describe, expect, it } from 'vitest';
import { ErpError } from '../../../src/connectors/connector.ts';
import { isolateBadRecords } from '../../../src/connectors/netsuite/read/isolate-bad-records.ts';

const ids = Array.from({ length: 1_000 }, (_unused, n) => String(n + 1));
const neverFull = () => false;
const unreadable = new ErpError('answer', 'ANSWER_MALFORMED', 'broken', { fix: 'Fix it.' });
function fetcher(bad: ReadonlySet<string>) {
  const batchSizes: number[] = [];
  const fetch = async (some: readonly string[]) => {
    batchSizes.push(some.length);
    if (some.some((id) => bad.has(id))) throw unreadable;
    return some;
  };
  return { fetch, batchSizes };
}

describe('isolateBadRecords', () => {
  it('finds bad records with few requests and returns the others in order', async () => {
    const { fetch, batchSizes } = fetcher(new Set(['7', '912']));
    const { parts, rest } = await isolateBadRecords(ids, fetch, neverFull);
    expect(rest).toEqual([]);
    expect(parts.flatMap(({ found }) => found ?? [])).toEqual(ids.filter((id) => id !== '7' && id !== '912'));
    expect(parts.filter(({ found }) => found === null)).toEqual(
      [7, 912].map((id) => ({ found: null, id: String(id), reason: 'broken' })),
    );
    expect(batchSizes.length).toBeLessThan(45);
  });

  it('gives up when more than fifty records of a page are bad', async () => {
    await expect(isolateBadRecords(ids, fetcher(new Set(ids)).fetch, neverFull)).rejects.toBe(unreadable);
    const { parts } = await isolateBadRecords(ids, fetcher(new Set(ids.slice(0, 50))).fetch, neverFull);
    expect(parts.filter(({ found }) => found === null)).toHaveLength(50);
  });

  it('rejects with an outage in between', async () => {
    const down = new ErpError('down', 'SERVER_ERROR', 'down', { fix: 'Wait.' });
    let left = 5;
    const fetch = async () => {
      left -= 1;
      throw left < 0 ? down : unreadable;
    };
    await expect(isolateBadRecords(ids, fetch, neverFull)).rejects.toBe(down);
  });

  it('reads no further once it is full, and returns the ids that it did not read', async () => {
    const { fetch, batchSizes } = fetcher(new Set(['7']));
    const { parts, rest } = await isolateBadRecords(ids, fetch, (some) => some.includes('9'));
    const read = parts.flatMap(({ found, id }) => found ?? [String(id)]);
    expect([...read, ...rest]).toEqual(ids);
    expect(read).toEqual(expect.arrayContaining(['7', '9']));
    expect(rest.length).toBeGreaterThan(900);
    expect(batchSizes.length).toBeLessThan(25);
  });
});
