// Writes a TypeScript program that uses everything that a random version declares, and lines that must not
// compile.
import type { RandomEndpoint, RandomVersion } from './random-versions.ts';

const camelCase = new Map(
  Object.entries({
    'invoice-filters': 'invoiceFilters',
    'invoice-selections': 'invoiceSelections',
    'a-b': 'aB',
    'a--b': 'aB',
    'credit-memos': 'creditMemos',
    'to-string': 'toString',
  }),
);

/** The property of each resource; of `a-b` and `a--b`, the second keeps its name. */
function listProperties(endpoints: readonly RandomEndpoint[]): string[] {
  const wanted = endpoints.map(({ name }) => camelCase.get(name) ?? name);
  return wanted.map((name, index) => (wanted.indexOf(name) < index ? (endpoints[index]?.name ?? '') : name));
}

/** A filter by equality whose values are those of the field for every reader. */
export const findEquality = ({ filters, fields }: RandomEndpoint): string | undefined =>
  filters.find(
    ({ field, operators }) =>
      operators.includes('eq') && fields.find(({ name }) => name === field)?.mask === undefined,
  )?.field;

const text = (value: unknown): string => JSON.stringify(value);

function writeResource(endpoint: RandomEndpoint, property: string): string {
  const { name, fields, aggregates, relations } = endpoint;
  const equality = findEquality(endpoint);
  const [first] = fields;
  const lines = fields.find(({ source }) => source === 'lines');
  const sum = aggregates?.[0]?.field;
  const relation = relations?.[0]?.name;
  return `{
  const resource = portal[${text(property)}];
  const list = [];
  for await (const record of resource.list({ pageSize: 2 })) list.push(record);
  const [one] = list;
  if (one === undefined) throw new Error('no records');
  const exported = [];
  for await (const record of resource.export()) exported.push(record);
  const changes = [];
  for await (const change of resource.changes()) changes.push(change);
  const narrowed: { readonly id: string; readonly ${text(first?.name)}: unknown } = await resource.get(one.id, { fields: [${text(first?.name)}] });
  const value = narrowed[${text(first?.name)}];
  found[${text(name)}] = { list, exported, changes, first: await resource.get(one.id), narrowed, value };
${
  equality === undefined
    ? ''
    : `  const given = list.map((record) => record[${text(equality)}]).find((each) => each !== null);
  if (given !== undefined && given !== null)
    Object.assign(found[${text(name)}], { filtered: (await resource.list({ ${text(equality)}: [given, given] }).page()).data });
`
}${
  sum === undefined
    ? ''
    : `  const summary = await resource.summary({ sum: ${text(sum)}, count: true });
  const [row] = summary.data;
  const total: string | null | undefined = row?.sum[${text(sum)}];
  const count: number | undefined = row?.count;
  Object.assign(found[${text(name)}], { summary: summary.data, total, count });
`
}${
  relation === undefined
    ? ''
    : `  const related = (await resource.list({ fields: ['id'], expand: [${text(relation)}], pageSize: 100 }).page()).data;
  const relatedId: string | undefined = related.map((record) => record[${text(relation)}]?.id).find((id) => id !== undefined);
  Object.assign(found[${text(name)}], { related, relatedId });
`
}${lines === undefined ? '' : `  const inLines: unknown = one[${text(lines.name)}]?.[0]?.[${text(lines.fields?.[0]?.name)}];\n  void inLines;\n`}  const either = list.length > 0 ? ${text(first?.name)} as const : ${text(fields[1]?.name)} as const;
  const spread = { pageSize: 1, no_such_filter: 1 };
  void [
    // @ts-expect-error: no such filter
    () => resource.list({ no_such_filter: 1 }),
    // @ts-expect-error: no such filter, beside one that exists
    () => resource.list({ pageSize: 1, no_such_filter: 1 }),
    // @ts-expect-error: no such filter, spread
    () => resource.list({ ...spread }),
    // @ts-expect-error: no such filter, in a variable
    () => resource.list(spread),
    // @ts-expect-error: no such field
    () => resource.get('1', { fields: ['no_such_field'] }),
    // @ts-expect-error: exports have no pages
    () => resource.export({ pageSize: 1 }),
    // @ts-expect-error: no such field of a record
    one.no_such_field,
    // @ts-expect-error: which of the two is known at run time only
    async (): Promise<{ ${text(first?.name)}: unknown }> => resource.get('1', { fields: [either] }),
    // @ts-expect-error: it was not asked for
    narrowed[${text(fields.slice(1).find((field) => !(field.name in {}))?.name)}],
  ];
}
`;
}

/** A module with a function \`run\`, which resolves to what the client read, by resource. */
export const writeScenario = ({ version, endpoints }: RandomVersion, integers: string): string => {
  const properties = listProperties(endpoints);
  return `import type { ClientOptions } from 'portal-service-client';
import { connect } from './src/${integers}/${version}.ts';

export async function run(options: ClientOptions) {
const portal = connect(options);
const found: Record<string, object> = {};
${endpoints.map((endpoint, index) => writeResource(endpoint, properties[index] ?? '')).join('')}return found;
}
`;
};

/** A module that compiles only while the client's types and those of openapi-typescript say the same. */
export const writeJudgement = (
  { version, endpoints }: RandomVersion,
  recordOf: (resource: string) => string,
): string => {
  const judged = endpoints.map(({ name, relations = [] }, index) => {
    const record = recordOf(name);
    const omitted = ['no_relation', ...relations.map((relation) => relation.name)].map(text).join(' | ');
    return `type Theirs${index} = Omit<components['schemas'][${text(record)}], ${omitted}>;
type Query${index} = NonNullable<paths[${text(`/${version}/${name}`)}]['get']['parameters']['query']>;
type Selection${index} = Omit<Query${index}, 'page' | 'pageSize' | 'fields' | 'format' | 'bom'${relations.length > 0 ? " | 'expand'" : ''}>;
export const parameters${index}: Same<keyof Selection${index}, keyof ours.${record}Selection> = true;
export const selection${index} = (theirs: Known<Required<Selection${index}>>): ours.${record}Selection => theirs;
export const fields${index}: Same<keyof Theirs${index}, keyof ours.${record}> = true;
export const record${index} = (theirs: Required<Theirs${index}>): ours.${record} => theirs;
export const back${index} = (our: ours.${record}): Readonlike<Required<Theirs${index}>> => our;
`;
  });
  return `import type { components, paths } from './judge/${version}.ts';
import type * as ours from './src/text/${version}.ts';

type Same<One, Other> = [One] extends [Other] ? ([Other] extends [One] ? true : never) : never;
// openapi-typescript has no type for times.
type Value<T> = unknown extends T ? never : T extends (infer Item)[] ? (unknown extends Item ? never : T) : T;
type Known<T> = { [Name in keyof T]: Value<T[Name]> };
type Readonlike<T> = T extends readonly (infer Item)[] ? readonly Readonlike<Item>[] : T extends object ? { readonly [Name in keyof T]: Readonlike<T[Name]> } : T;
${judged.join('')}`;
};
