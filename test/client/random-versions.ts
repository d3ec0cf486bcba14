// Random API versions over the invoices of the fixture, with names that languages reserve, and random rows.
// Knows nothing of the client.
import { createRandom, type Random } from '../access/random.ts';
import type { InvoiceRow } from '../public/fixture.ts';

type Source = {
  readonly source: string;
  readonly operators: readonly string[];
  readonly masks: readonly string[];
};
const compared = ['gt', 'lt', 'gte', 'lte'];
const dated = ['after', 'before', 'gte', 'lte'];
const common = ['eq', 'not', 'null'];
const sources: readonly Source[] = [
  { source: 'tranid', operators: [...common, 'contains', 'starts_with'], masks: ['hash', 'last4'] },
  { source: 'status', operators: common, masks: ['hash'] },
  { source: 'total', operators: [...common, ...compared], masks: ['hash', 'last4'] },
  { source: 'seq', operators: [...common, ...compared], masks: ['hash', 'last4'] },
  { source: 'paid', operators: common, masks: ['hash'] },
  { source: 'trandate', operators: [...common, ...dated], masks: ['hash', 'year'] },
  { source: 'lastmodified', operators: [...common, ...dated], masks: ['hash', 'year'] },
  { source: 'entity', operators: common, masks: ['hash'] },
  { source: 'entity.name', operators: ['contains', 'starts_with'], masks: ['hash'] },
];

const fieldNames =
  'class from import self constructor toString valueOf then items keys values get list record data total op at type none null undefined lambda yield async await default function var new in is not parameters name length prototype hasOwnProperty changes summary str int bool number string a aB a_b aBC date time decimal sum max count avg expand'.split(
    ' ',
  );
const resourceNames =
  'promises dates records arrays objects errors maps sets portals classes imports invoices invoice-filters invoice-selections a-b a--b ab credit-memos then constructor to-string numbers strings booleans decimals typings resources interfaces nones selfs unpacks'.split(
    ' ',
  );

/** Names of parameters, which no filter may have; `expand` is one of those with relations. */
const parameterNames = new Set(['sum', 'max', 'count', 'avg']);

export type RandomField = {
  readonly name: string;
  readonly source: string;
  readonly mask?: string;
  readonly as?: 'string';
  readonly fields?: readonly RandomField[];
};
export type RandomEndpoint = {
  readonly name: string;
  readonly fields: readonly RandomField[];
  readonly filters: readonly { readonly field: string; readonly operators: readonly string[] }[];
  readonly sorts: readonly string[];
  readonly aggregates?: readonly { readonly field: string; readonly functions: readonly string[] }[];
  readonly groups?: readonly string[];
  readonly relations?: readonly {
    readonly name: string;
    readonly field: string;
    readonly resource: string;
  }[];
};
export type RandomVersion = { readonly version: string; readonly endpoints: readonly RandomEndpoint[] };

const isWord = (name: string) => name !== '';
const takeNames = (random: Random, names: readonly string[], count: number): string[] => {
  const left = [...names];
  return Array.from({ length: count }, () => left.splice(random.int(left.length), 1)[0] ?? '').filter(isWord);
};

function randomEndpoint(random: Random, name: string, resources: readonly string[]): RandomEndpoint {
  const chosen = random.some(sources, 3);
  const names = takeNames(random, fieldNames, chosen.length + 5);
  const fields: RandomField[] = chosen.map(({ source, masks }, index) => ({
    name: names[index] ?? '',
    source,
    ...(random.chance(0.2) && { mask: random.pick(masks) }),
    ...(source === 'total' && random.chance(0.3) && { as: 'string' as const }),
  }));
  const [linesName = '', item = '', quantity = '', relation = ''] = names.slice(chosen.length);
  const lines: RandomField = {
    name: linesName,
    source: 'lines',
    fields: [
      { name: item, source: 'item' },
      { name: quantity, source: 'quantity', ...(random.chance(0.3) && { as: 'string' as const }) },
    ],
  };
  const plain = fields.filter(({ mask }) => mask === undefined);
  const operatorsOf = (wanted: string) => sources.find(({ source }) => source === wanted)?.operators ?? [];
  const entity = fields.find(({ source, mask }) => source === 'entity' && mask === undefined);
  const isRelated = entity !== undefined && !names.includes('expand') && random.chance(0.7);
  const filters = random
    .some(
      fields.filter((field) => !parameterNames.has(field.name)),
      1,
    )
    .map(({ name: field, source }) => ({ field, operators: random.some(operatorsOf(source), 1) }));
  const total = plain.find(({ source }) => source === 'total');
  const grouped = plain.find(
    ({ name: named, source }) => ['status', 'seq'].includes(source) && !parameterNames.has(named),
  );
  return {
    name,
    fields: random.chance(0.6) ? [...fields, lines] : fields,
    filters,
    sorts: plain.filter(({ source }) => !source.includes('.')).map((field) => field.name),
    ...(total !== undefined && { aggregates: [{ field: total.name, functions: ['sum', 'min'] }] }),
    ...(grouped !== undefined && { groups: [grouped.name] }),
    ...(isRelated && {
      relations: [{ name: relation, field: entity.name, resource: random.pick(resources) }],
    }),
  };
}

/** `recordType` is invoice for all: relations lead from an invoice to the one that its entity names. */
export function randomVersions(seed: number, count: number): RandomVersion[] {
  const random = createRandom(seed);
  return Array.from({ length: count }, (_, index) => {
    const resources = takeNames(random, resourceNames, 1 + random.int(4));
    return {
      version: `v${index + 1}`,
      endpoints: resources.map((name) => randomEndpoint(random, name, resources)),
    };
  });
}

const big = ['9007199254740993', '-9007199254740995', '123456789012345678'];

export function randomRows(seed: number, count: number): InvoiceRow[] {
  const random = createRandom(seed);
  const sometimes = <T>(value: T): T | null => (random.chance(0.2) ? null : value);
  const day = () => `2026-0${1 + random.int(9)}-1${random.int(10)}`;
  return Array.from({ length: count }, (_, index) => ({
    id: index + 1,
    tranid: sometimes(`INV "${index}" ü, ${random.int(5)}`),
    status: sometimes(random.pick(['open', 'paid', 'a,b', '0012'])),
    total: sometimes(random.chance(0.2) ? random.pick(big) : `${random.int(1_000)}.${10 + random.int(90)}`),
    seq: sometimes(random.chance(0.2) ? random.pick(big) : String(random.int(100))),
    paid: sometimes(random.chance(0.5)),
    trandate: sometimes(day()),
    lastmodified: sometimes(`${day()}T10:00:0${random.int(10)}Z`),
    entity: sometimes(String(1 + random.int(count + 2))),
    entityName: sometimes(`Customer ${random.int(3)}`),
    lines: sometimes(
      JSON.stringify(
        Array.from({ length: random.int(3) }, (__, at) => ({ item: String(at), quantity: at + 0.5 })),
      ),
    ),
  }));
}
