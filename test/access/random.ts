// Random choices from a seed, and values that can't be mistaken: each is found again in any text, and says
// which record it came from.
import { gunzipSync } from 'node:zlib';

export type Random = {
  /** A whole number from 0 to `below` - 1. */
  int(below: number): number;
  chance(probability: number): boolean;
  pick<T>(list: readonly T[]): T;
  /** Between `min` and all of them, in their order. */
  some<T>(list: readonly T[], min?: number): T[];
  /** Never the same twice: `zq` and eight hexadecimal digits. Also a legal name of a field or resource. */
  word(): string;
  /** Never the same twice: `77` and seven digits. */
  number(): string;
  /** Never the same twice: `88` and seven digits. */
  id(): string;
  /** Never the same twice, in the years 3000 to 3999. */
  date(): string;
};

export const propertySeed = Number(process.env['PROPERTY_SEED'] ?? 20_261_121);

/** Mulberry32: small, and the same on every machine. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const int = (below: number): number => Math.floor(next() * below);
  const used = new Set<string>();
  const unused = (make: () => string): string => {
    for (;;) {
      const made = make();
      if (used.has(made)) continue;
      used.add(made);
      return made;
    }
  };
  const digits = (count: number): string => Array.from({ length: count }, () => int(10)).join('');
  return {
    int,
    chance: (probability) => next() < probability,
    pick: <T>(list: readonly T[]): T => {
      const [first] = list;
      if (first === undefined) throw new RangeError('nothing to pick from');
      return list[int(list.length)] ?? first;
    },
    some: (list, min = 0) => {
      const count = min + int(list.length - min + 1);
      const order = list.map((item, index) => ({ item, index, by: next() })).sort((a, b) => a.by - b.by);
      return order
        .slice(0, count)
        .sort((a, b) => a.index - b.index)
        .map(({ item }) => item);
    },
    word: () =>
      unused(
        () =>
          `zq${int(2 ** 32)
            .toString(16)
            .padStart(8, '0')}`,
      ),
    number: () => unused(() => `77${digits(7)}`),
    id: () => unused(() => `88${digits(7)}`),
    date: () =>
      unused(
        () => `3${digits(3)}-${String(1 + int(12)).padStart(2, '0')}-${String(1 + int(28)).padStart(2, '0')}`,
      ),
  };
}

const unmistakable = /(?<![0-9A-Za-z])(?:zq[0-9a-f]{8}|77\d{7}|88\d{7}|3\d{3}-\d\d-\d\d)(?![0-9A-Za-z])/g;
const encoded = /[A-Za-z0-9_-]{16,}/g;

/** The unmistakable values in a text, also percent-encoded or within base64url. */
export function tokensIn(text: string): Set<string> {
  const texts = [text];
  if (text.includes('%'))
    texts.push(
      text.replaceAll(/%([0-9A-Fa-f]{2})/g, (_whole, hex: string) =>
        String.fromCharCode(Number.parseInt(hex, 16)),
      ),
    );
  for (const [part] of text.matchAll(encoded)) texts.push(Buffer.from(part, 'base64url').toString('latin1'));
  return new Set(texts.flatMap((one) => [...one.matchAll(unmistakable)].map(([token]) => token)));
}

/** The text of a body, decompressed if need be. */
export const bodyText = (raw: Buffer, coding: string | undefined): string =>
  (coding === 'gzip' && raw.length > 0 ? gunzipSync(raw) : raw).toString();

/** JSON with each number as `#` and its digits, so that none is lost and a number differs from a text. */
export const parseExact = (text: string): unknown =>
  JSON.parse(text, ((_key: string, value: unknown, { source }: { source: string }) =>
    typeof value === 'number' ? `#${source}` : value) as (key: string, value: unknown) => unknown);
