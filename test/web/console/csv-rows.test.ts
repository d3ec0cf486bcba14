import { describe, expect, it } from 'vitest';
import { createRowCounter } from '../../../web/console/src/parts/csv-rows.ts';

describe('the rows of a CSV file', () => {
  const file = Buffer.from('id,memo\r\n1,"two\r\nlines, and a "" quote"\r\n2,plain\r\n3,""\r\n');

  it.each([1, 7, 1_000])('are counted in pieces of %i bytes, without the head', (size) => {
    const count = createRowCounter();
    let rows = 0;
    for (let at = 0; at < file.length; at += size) rows = count(file.subarray(at, at + size));
    expect(rows).toBe(3);
  });

  it('are none before the head has ended', () => {
    const count = createRowCounter();
    expect([count(Buffer.from('id')), count(Buffer.from('\r\n')), count(Buffer.from('1\r\n'))]).toEqual([
      0, 0, 1,
    ]);
  });
});
