// Long JSON is parsed in slices: with the results and the errors of JSON.parse, and turns of the event loop
// in between.
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseJson } from '../../src/core/text/parse-json.ts';

/** Longer than what is parsed at once. */
const rows = Array.from({ length: 25_000 }, (_unused, n) => ({
  id: String(n),
  memo: `line ${n}\n"quoted" \\ {[,:]} é€ `.repeat(2),
  links: [],
}));
const long = JSON.stringify(rows);

/** As a text may arrive: in parts of these lengths, so that they end anywhere, in escapes too. */
function splitText(text: string, lengths: readonly number[] = [65_536, 1, 7, 0, 40_000, 2]): string[] {
  const parts: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = lengths[parts.length % lengths.length] ?? 1;
    parts.push(text.slice(at, at + length));
    at += length;
  }
  return parts;
}

const outcome = async (parse: () => unknown): Promise<unknown> => {
  try {
    return { value: await parse() };
  } catch (error) {
    return error instanceof SyntaxError ? 'SyntaxError' : error;
  }
};

describe('parseJson', () => {
  it.each([
    ['an array in an object', `{"links":[],"count":3,"items":${long},"hasMore":true}`],
    [
      'several arrays, empty ones and an array of one number',
      `{"a":${long},"b":[ ],"c":[7],"d":${long},"e":[[],[1,[2]]]}`,
    ],
    ['an array of arrays', `[${long},[],[1],${long},3,"x"]`],
    ['an array of rows', long],
    [
      'names that are given twice, and unusual ones',
      `{"a":[1],"a":${long},"__proto__":[2],"1":[3],"constructor":[4]}`,
    ],
    ['a text', JSON.stringify('x"\\'.repeat(1_000_000))],
    [
      'a row with a very long text',
      `{"items":[{"id":"1","memo":${JSON.stringify('a "b" \\'.repeat(400_000))}},{"id":"2"}]}`,
    ],
    ['spaces everywhere', JSON.stringify({ items: rows, more: [1, [2]] }, null, 2)],
  ])('parses %s as JSON.parse does', async (_name, text) => {
    expect(text.length).toBeGreaterThan(2_100_000);
    const parsed = await parseJson(splitText(text));
    const expected: unknown = JSON.parse(text);
    expect(JSON.stringify(parsed) === JSON.stringify(expected)).toBe(true);
    const isObject = typeof expected === 'object' && !Array.isArray(expected);
    if (isObject) expect(Object.getOwnPropertyNames(parsed)).toEqual(Object.getOwnPropertyNames(expected));
  });

  it('finds the ends of texts wherever parts end', async () => {
    const rows = Array.from({ length: 300_000 }, (_unused, n) => ({ a: `\\"${'\\'.repeat(n % 5)}` }));
    const text = `{"items":${JSON.stringify(rows)}}`;
    for (const lengths of [[3], [5, 0, 1]])
      expect(await parseJson(splitText(text, lengths))).toEqual(JSON.parse(text));
  });

  it('accepts and refuses the same texts', async () => {
    const head = '{"links":[],"a":[{"b":"c\\""},[1,2]],"items":';
    const tail = ',"count":[3,{"x":[]}],"hasMore":true}';
    const text = head + long + tail;
    const places = fc.oneof(
      fc.nat(head.length + 60),
      fc.nat(tail.length + 60).map((back) => text.length - back),
      fc.nat(text.length),
    );
    await fc.assert(
      fc.asyncProperty(
        places,
        fc.nat(2),
        fc.constantFrom('', ',', '[', ']', '{', '}', '"', '\\', ':', '0', ' '),
        async (at, length, put) => {
          const damaged = text.slice(0, at) + put + text.slice(at + length);
          const [mine, theirs] = await Promise.all([
            outcome(() => parseJson(splitText(damaged, [65_536, at % 1_009]))),
            outcome(async () => JSON.parse(damaged)),
          ]);
          expect(JSON.stringify(mine) === JSON.stringify(theirs)).toBe(true);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('gives the event loop turns in between', async () => {
    let parsing = true;
    let turns = 0;
    const text = `{"items":${long}}`;
    const parsed = parseJson(splitText(text)).finally(() => {
      parsing = false;
    });
    for (; parsing; turns += 1) await yieldToEventLoop();
    await parsed;
    expect(turns).toBeGreaterThanOrEqual(Math.floor(text.length / 300_000));
  });
});
