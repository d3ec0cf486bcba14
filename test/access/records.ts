// The random records of a company: each belongs to a customer, and every value of which there are many says
// whose it is.
import type { FieldType } from '../../src/connectors/connector.ts';
import type { SourceLine, SourceRecord } from '../../src/connectors/source-records.ts';
import { field, type MemoryErp, memoryErp } from '../sync/fixture.ts';
import type { FieldKind } from './model.ts';
import type { Random } from './random.ts';

type SourceModel = { readonly source: string; readonly kind: FieldKind; readonly type: FieldType };

const source = (name: string, kind: FieldKind, type: FieldType = kind): SourceModel => ({
  source: name,
  kind,
  type,
});

/** Of few values, so that scopes select several records. */
export const scopeSources: readonly SourceModel[] = [
  source('owner', 'text', 'reference'),
  source('region', 'text'),
  source('code', 'integer'),
  source('rate', 'number'),
  source('day', 'date'),
  source('stamp', 'time'),
  source('flag', 'boolean'),
];
/** Of one value for each record. */
export const ownSources: readonly SourceModel[] = [
  source('note', 'text'),
  source('mail', 'text'),
  source('phone', 'integer'),
  source('price', 'number'),
  source('born', 'date'),
  source('seen', 'time'),
  source('rank', 'integer'),
];
const lineSources = [field('item'), field('cost', 'number'), field('count', 'integer')];

export type Customer = { readonly key: string; readonly name: string; readonly codes: readonly string[] };
export type Pools = {
  readonly customers: readonly Customer[];
  readonly values: Readonly<Record<string, readonly string[]>>;
};

const several = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

export function createPools(random: Random): Pools {
  const customers = several(4, () => ({
    key: random.word(),
    name: random.word(),
    codes: several(2, () => random.number()),
  }));
  const stampDay = random.date();
  const stamps = [
    `${stampDay}T01:02:03Z`,
    `${stampDay}T21:22:23Z`,
    ...several(2, () => `${random.date()}T10:00:00Z`),
  ];
  const values = {
    owner: customers.map(({ key }) => key),
    region: several(3, () => random.word()),
    code: customers.flatMap(({ codes }) => codes),
    rate: several(4, () => `${random.number()}.${random.pick(['50', '25', '10'])}`),
    day: several(4, () => random.date()),
    stamp: stamps,
    flag: ['true', 'false'],
  };
  return { customers, values };
}

export type RecordKind = {
  readonly name: string;
  readonly idType: 'integer' | 'text';
  readonly erp: MemoryErp;
  /** The record type whose records the field `link` names. */
  readonly target: string;
  /**
   * Ids of the stored records whose newest version can't be stored and belongs to another customer or has no
   * readable values.
   */
  readonly withheld: Set<string>;
};

/** The ERP of one record type. */
export function createErp(name: string, idType: 'integer' | 'text', target: string): RecordKind {
  const fields = [...scopeSources, ...ownSources].map((one) => field(one.source, one.type));
  const link = { ...field('link', 'reference'), target };
  const erp = memoryErp([...fields, link, field('lines', 'lines', lineSources), field('modified', 'time')]);
  erp.shownAs = { number: null, name: 'note', date: null, amount: null };
  erp.deleted = new Map();
  const { metadata } = erp.connector;
  const connector = {
    ...erp.connector,
    metadata: async (signal: AbortSignal) =>
      (await metadata(signal)).map((type) => ({ ...type, name, label: name, table: name, idType })),
  };
  return { name, idType, erp: Object.assign(erp, { connector }), target, withheld: new Set() };
}

/** With `bulk` characters more in its note, which makes answers large. */
export function randomRecord(
  random: Random,
  { customers, values }: Pools,
  bulk: number,
): Pick<SourceRecord, 'values' | 'labels' | 'lines'> {
  const customer = random.pick(customers);
  const shared = Object.fromEntries(
    Object.entries(values).map(([name, list]) => [name, random.chance(0.08) ? null : random.pick(list)]),
  );
  const own = {
    note: bulk === 0 ? random.word() : `${random.word()} ${'.'.repeat(bulk)}`,
    mail: `${random.word()}@${random.word()}.example`,
    phone: random.number(),
    price: `${random.number()}.${random.int(90) + 10}`,
    born: random.date(),
    seen: `${random.date()}T0${random.int(10)}:00:00Z`,
    rank: String(random.int(5)),
  };
  const sparse = Object.fromEntries(
    Object.entries(own).map(([name, value]) => [name, random.chance(0.05) ? null : value]),
  );
  const lines = several(
    random.int(3),
    (): SourceLine => ({ item: random.word(), cost: `${random.number()}.5`, count: String(random.int(9)) }),
  );
  return {
    values: { ...shared, ...sparse, owner: customer.key, code: random.pick(customer.codes) },
    labels: { owner: customer.name },
    lines,
  };
}

const now = (): string => new Date().toISOString().replace(/\.\d+Z$/, 'Z');

/** Of records that there may be, are no more, or never were, some in a form that no id has. */
function randomLink(random: Random, ids: readonly string[]): string | null {
  if (ids.length === 0 || random.chance(0.1)) return null;
  return random.chance(0.1) ? random.pick([random.id(), random.word(), '0']) : random.pick(ids);
}

/** `linked`: ids of the record type that the kind refers to. */
export function putRandom(
  random: Random,
  pools: Pools,
  kind: RecordKind,
  id: string,
  bulk: number,
  linked: readonly string[],
): void {
  const { values, labels, lines } = randomRecord(random, pools, bulk);
  const modifiedAt = now();
  kind.erp.put(
    id,
    { ...values, link: randomLink(random, linked), modified: modifiedAt },
    { labels, lines, modifiedAt },
  );
}

/**
 * The newest version of a stored record can't be stored: it belongs to another customer, has no readable
 * values, or the stored ones.
 */
function rejectRandom(random: Random, pools: Pools, { erp, withheld }: RecordKind, id: string): void {
  const held = erp.records.get(id);
  const way = random.pick(['moved', 'unreadable', 'unmoved']);
  const owner = random.pick(pools.customers.filter(({ key }) => key !== held?.values['owner'])).key;
  const values = { ...held?.values, ...(way === 'moved' && { owner }) };
  erp.put(id, values, { ...held, values, modifiedAt: now() });
  erp.rejects.set(id, {
    id,
    code: 'LINE_UNREADABLE',
    message: 'line 1',
    ...(way !== 'unreadable' && { values }),
  });
  if (way !== 'unmoved') withheld.add(id);
}

function mend(
  random: Random,
  pools: Pools,
  kind: RecordKind,
  id: string,
  bulk: number,
  linked: readonly string[],
): void {
  kind.erp.rejects.delete(id);
  kind.withheld.delete(id);
  putRandom(random, pools, kind, id, bulk, linked);
}

/**
 * Some records move to other customers, some are new, some are deleted, and of some the new version can't be
 * stored, for a while.
 */
export function changeRecords(
  random: Random,
  pools: Pools,
  kind: RecordKind,
  bulk: number,
  linked: readonly string[],
): void {
  const { rejects, records } = kind.erp;
  const isStored = (id: string): boolean => !rejects.has(id);
  // Before any is mended: the newest version of these is the stored one.
  const stored = [...records.keys()].filter(isStored);
  for (const id of [...rejects.keys()]) if (random.chance(0.4)) mend(random, pools, kind, id, bulk, linked);
  for (const id of random.some(stored).slice(0, random.int(6))) rejectRandom(random, pools, kind, id);
  const ids = [...records.keys()].filter(isStored);
  for (const id of random.some(ids).slice(0, 12)) putRandom(random, pools, kind, id, bulk, linked);
  for (const id of random.some(ids).slice(0, 3)) if (random.chance(0.5)) kind.erp.drop(id);
  for (let n = random.int(4); n > 0; n -= 1) putRandom(random, pools, kind, random.id(), bulk, linked);
}
