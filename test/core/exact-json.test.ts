import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseExact } from '../../src/core/text/exact-json.ts';

describe('parseExact', () => {
  it('keeps all digits when parsed and serialized again', () => {
    const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,25})(\.\d{1,20})?(e[+-]?\d{1,3})?$/);
    const text = fc.array(fc.tuple(fc.string(), digits), { maxLength: 5 }).map((pairs) => {
      const lines = pairs.map(
        ([name, number], index) =>
          `${JSON.stringify(`k${index}${name}`)}:{"a":[${number},null,true,"${number}"]}`,
      );
      return `[{${lines.join(',')}}]`;
    });
    fc.assert(
      fc.property(text, (given) => {
        expect(JSON.stringify(parseExact(given))).toBe(given);
      }),
    );
  });

  it('returns ordinary numbers as numbers', () => {
    expect(parseExact('{"page":2,"share":0.25,"list":[-7]}')).toEqual({ page: 2, share: 0.25, list: [-7] });
  });
});
