// Records from a seed: the same ones for the same seed, and obviously generated.
import { sum, trimFraction, type Value, type Values } from './edm.ts';
import type { EntitySet, Profile, Property } from './profiles/profile.ts';
import { type Row, type Store, type Table, toKey } from './store.ts';

export type Random = () => number;

/** Mulberry32: numbers from 0 to 1. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const digits = (random: Random, count: number): string =>
  count > 9
    ? digits(random, 9) + digits(random, count - 9)
    : Math.floor(random() * 10 ** count)
        .toString()
        .padStart(count, '0');
const toGuid = (random: Random): string => {
  const [a, b, c, d] = Array.from({ length: 4 }, () =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  );
  return `${a}-${b?.slice(4)}-4${b?.slice(0, 3)}-8${c?.slice(0, 3)}-${c?.slice(4)}${d}`;
};
const pick = <T>(random: Random, from: readonly T[]): T | undefined =>
  from[Math.floor(random() * from.length)];

/** A time as the profile writes it. `finer` fills the digits below a millisecond. */
export function toTime({ timeDigits, keepsZeros }: Profile, at: Date, finer = 0): string {
  const [whole = '', milliseconds = ''] = at.toISOString().slice(0, -1).split('.');
  const rest =
    timeDigits > 3
      ? String(finer)
          .padStart(timeDigits - 3, '0')
          .slice(3 - timeDigits)
      : '';
  const time = `${whole}.${milliseconds}${rest}`;
  return `${keepsZeros ? time : trimFraction(time)}Z`;
}

const FIRST_DAY = Date.UTC(2020, 0, 1);
const toDay = (random: Random): string =>
  new Date(FIRST_DAY + Math.floor(random() * 2_000) * 86_400_000).toISOString().slice(0, 10);
const toText = (template: string, number: number): string =>
  template.replace(/\{n(?::(\d+))?\}/g, (_whole, width = '1') => String(number).padStart(Number(width), '0'));

function sampleNumber({ type, Scale, decimals }: Property, random: Random): string {
  const isNegative = random() < 0.1 && type !== 'Edm.Byte';
  const places = typeof Scale === 'number' ? Scale : (decimals ?? 0);
  const whole = String(Math.floor(random() * (/Byte/.test(type) ? 100 : 10_000)));
  const text =
    type === 'Edm.Int64'
      ? `9${digits(random, 17)}`
      : type === 'Edm.Decimal' && places > 0
        ? `${whole}.${digits(random, places)}`
        : whole;
  return isNegative && /[1-9]/.test(text) ? `-${text}` : text;
}

type Samples = { store: Store; company: string; random: Random; at: Date; referred: Map<string, Value[]> };

function pickReferred({ store, company, random, referred }: Samples, name: string): Value {
  const set = store.profile.sets.find((one) => one.name === name);
  if (!set) return null;
  const known =
    referred.get(name) ??
    [...store.table(company, set).rows.values()].map(({ values }) => values[set.keys[0] ?? ''] ?? null);
  referred.set(name, known);
  return pick(random, known) ?? null;
}

const BLANKS: Readonly<Record<string, Value>> = {
  'Edm.String': '',
  'Edm.Boolean': false,
  'Edm.Date': '0001-01-01',
  'Edm.Guid': '00000000-0000-0000-0000-000000000000',
  'Edm.Decimal': '0',
};
/** null, or what a service without null has. */
export const toBlank = ({ hasNoNulls, enums }: Profile, { type }: Property): Value =>
  hasNoNulls ? (enums[type]?.[0] ?? BLANKS[type] ?? null) : null;

function sampleValue(samples: Samples, property: Property, number: number): Value {
  const { random, store } = samples;
  const { profile } = store;
  const { type, isRequired, sample, refers } = property;
  if (refers !== undefined) return pickReferred(samples, refers) ?? toBlank(profile, property);
  const members = profile.enums[type];
  if (members) return pick(random, members) ?? null;
  const inner = profile.complexTypes[type];
  if (inner)
    return Object.fromEntries(
      Object.entries(inner).map(([name, one]) => [name, sampleValue(samples, one, number)]),
    );
  if (type.startsWith('Collection(')) return [`tag ${number}`, 'generated'];
  if (type === 'Edm.String')
    return sample === undefined
      ? toBlank(profile, property)
      : typeof sample === 'string'
        ? toText(sample, number)
        : (pick(random, sample) ?? null);
  if (isRequired && /Int/.test(type)) return String(number);
  if (!isRequired && random() < 0.05) return toBlank(profile, property);
  if (/Int|Byte|Decimal/.test(type)) return sampleNumber(property, random);
  switch (type) {
    case 'Edm.Guid':
      return toGuid(random);
    case 'Edm.Boolean':
      return random() < 0.5;
    case 'Edm.Date':
      return toDay(random);
    case 'Edm.DateTimeOffset':
      return toTime(profile, samples.at);
    case 'Edm.TimeOfDay':
      return `1${digits(random, 1)}:30:15.${digits(random, 6)}`;
    case 'Edm.Duration':
      return `P${digits(random, 1)}DT1H0.${digits(random, 3)}S`;
    case 'Edm.Double':
    case 'Edm.Single':
      return `${digits(random, 1)}.5`;
    case 'Edm.Binary':
      return Buffer.from(digits(random, 6)).toString('base64url');
    default:
      return null;
  }
}

function sampleRecord(samples: Samples, { properties, changed }: EntitySet, number: number): Values {
  const values: Record<string, Value> = {};
  for (const [name, property] of Object.entries(properties))
    values[name] = sampleValue(samples, property, number);
  if (changed !== undefined) values[changed] = toTime(samples.store.profile, samples.at);
  return values;
}

/** With a key that the table doesn't have yet. */
export function sampleNew(samples: Samples, table: Table): Values {
  for (let number = table.rows.size + 1; ; number += 1) {
    const values = sampleRecord(samples, table.set, number);
    if (!table.rows.has(toKey(table.set, values))) return values;
  }
}

/** A line of a header, with this number. */
export function sampleLine(samples: Samples, table: Table, header: Values, number: number): Values {
  const { by = {}, number: numbered = '', step = 1 } = table.set.header ?? {};
  const links = Object.entries(by).map(([own, theirs]) => [own, header[theirs] ?? null]);
  return { ...sampleNew(samples, table), ...Object.fromEntries(links), [numbered]: String(number * step) };
}

export const createSamples = (store: Store, company: string, seed: number, at: Date): Samples => ({
  store,
  company,
  random: createRandom(seed),
  at,
  referred: new Map(),
});

export type Bulk = { count: number; seed: number; lines: number; from: Date; stepSeconds: number };

/** Generated records with lines. Their modification times begin at `from`, and move by a step from one to the next. */
export function generate(
  store: Store,
  company: string,
  table: Table,
  lineTable: Table | undefined,
  bulk: Bulk,
): void {
  const { set } = table;
  const samples = createSamples(store, company, bulk.seed, bulk.from);
  for (let i = 0; i < bulk.count; i += 1) {
    samples.at = new Date(bulk.from.getTime() + i * bulk.stepSeconds * 1000);
    const values = sampleNew(samples, table);
    const lines = lineTable
      ? Array.from({ length: bulk.lines }, (_, n) => sampleLine(samples, lineTable, values, n + 1))
      : [];
    const sums = Object.entries(set.properties).flatMap(([name, { sumOf }]) =>
      sumOf === undefined || !lineTable ? [] : [[name, sum(lines.map((line) => String(line[sumOf] ?? '0')))]],
    );
    const row: Row = store.put(table, { ...values, ...Object.fromEntries(sums) }, true);
    if (lineTable) row.lines = lines.map((line) => store.put(lineTable, line, false));
  }
}
