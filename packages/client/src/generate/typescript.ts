// Writes the TypeScript client of a version.
import {
  createNames,
  firstSentence,
  listPaths,
  type Model,
  type Property,
  type Relation,
  type ResourceModel,
  type ValueType,
} from './model.ts';

export type IntegerForm = 'text' | 'bigint';

const isIdentifier = (name: string): boolean => /^[A-Za-z_$][\w$]*$/.test(name);
const quote = (text: string): string =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
const keyOf = (name: string): string => (isIdentifier(name) ? name : quote(name));

/** Publishers' texts can't end it. */
function comment(about: string, indent = ''): string {
  const text = firstSentence(about).replaceAll('*/', '* /');
  return text === '' ? '' : `${indent}/** ${text} */\n`;
}

const join = (types: readonly string[]): string => [...new Set(types)].join(' | ');

function objectType(properties: readonly Property[], toType: (type: ValueType) => string): string {
  const fields = properties.map(({ name, type }) => `readonly ${keyOf(name)}: ${toType(type)}`);
  return fields.length === 0 ? '$.None' : `{ ${fields.join('; ')} }`;
}

const answerKinds = {
  text: 'string',
  time: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
} as const;

/** Of what the service answers. */
function answerType(integers: IntegerForm): (type: ValueType) => string {
  const toType = (type: ValueType): string => {
    const masked = type.isMasked ? ['string'] : [];
    const empty = type.nullable ? ['null'] : [];
    if (type.list !== undefined) return join([`readonly (${toType(type.list)})[]`, ...masked, ...empty]);
    if (type.object !== undefined) return join([objectType(type.object, toType), ...empty]);
    const wide = type.isWide ? [integers === 'bigint' ? 'bigint' : 'string'] : [];
    if (type.kind === 'unknown') return 'unknown';
    return join([answerKinds[type.kind], ...wide, ...masked, ...empty]);
  };
  return toType;
}

const parameterKinds = { ...answerKinds, time: '$.Time', unknown: 'string' } as const;

/** Of what a request takes. */
function parameterType(type: ValueType): string {
  if (type.list !== undefined) return `$.OneOrMore<${parameterType(type.list)}>`;
  if (type.choices.length > 0) return join(type.choices.map(quote));
  return type.isWide ? '$.Numeric' : parameterKinds[type.kind];
}

type Written = { readonly name: string; readonly parents?: string; readonly about?: string };

const writeInterface = (
  { name, parents = '', about = '' }: Written,
  properties: readonly Property[],
  write: (property: Property) => string,
): string =>
  `${comment(about)}export interface ${name}${parents} {\n${properties
    .map((property) => `${comment(property.about, '  ')}  readonly ${write(property)};\n`)
    .join('')}}\n`;

/** Every object has some names, with other types. */
const parameter = ({ name, type }: Property): string => {
  const inherited = name in {} ? [`$.Inherited<${quote(name)}>`] : [];
  return `${keyOf(name)}?: ${join([parameterType(type), ...inherited])}`;
};

type Context = { readonly integers: IntegerForm; readonly unique: (name: string) => string };

/** The types of a resource, and the line that names them in the interface of the client. */
function writeResource(resource: ResourceModel, { integers, unique }: Context) {
  const { record, fields, relations, filters, sorting, summary } = resource;
  const toType = answerType(integers);
  const answer = ({ name, type }: Property) => `${keyOf(name)}: ${toType(type)}`;
  const [related, filter, selection] = ['Related', 'Filters', 'Selection'].map((suffix) =>
    unique(record + suffix),
  );
  const relation = ({ name, record: target }: Relation) => `  readonly ${keyOf(name)}: ${target} | null;\n`;
  const parts = [
    writeInterface({ name: record, about: resource.about }, fields, answer),
    writeInterface({ name: `${filter}` }, filters, parameter),
    writeInterface({ name: `${selection}`, parents: ` extends ${filter}` }, sorting, parameter),
  ];
  if (relations.length > 0)
    parts.push(`export interface ${related} {\n${relations.map(relation).join('')}}\n`);
  const types = [
    `record: ${record}`,
    `related: ${relations.length > 0 ? related : '$.None'}`,
    `selection: ${selection}`,
  ];
  if (summary === undefined) types.push('summary: never');
  else {
    const [parameters, row] = [unique(`${record}SummaryParameters`), unique(`${record}SummaryRow`)];
    parts.push(
      writeInterface({ name: parameters, parents: ` extends ${filter}` }, summary.parameters, parameter),
      writeInterface({ name: row }, summary.row, answer),
    );
    types.push(`summary: { parameters: ${parameters}; row: ${row} }`);
  }
  const member = `${comment(resource.about, '  ')}  readonly ${keyOf(resource.property)}: $.Resource<{ ${types.join('; ')} }>;\n`;
  return { text: parts.join('\n'), member };
}

const writeFacts = (resource: ResourceModel, { resources }: Model, integers: IntegerForm): string => {
  const { name, property, maxPageSize } = resource;
  const wide = listPaths(resource, resources).filter(({ type }) => type.isWide);
  const paths = wide.map(({ path }) => path);
  const facts = { name, maxPageSize, ...(integers === 'bigint' && { integers: paths }) };
  return `    ${keyOf(property)}: ${JSON.stringify(facts)},\n`;
};

/** The text of a module with the record types of a version and a function `connect`. */
export function writeTypescript(model: Model, integers: IntegerForm): string {
  const unique = createNames(model);
  const client = unique('Portal');
  const written = model.resources.map((resource) => writeResource(resource, { integers, unique }));
  return [
    `// Written by \`portal pull\` for version ${model.version}. Do not edit: the next pull replaces it.\nimport * as $ from 'portal-service-client';\n`,
    ...written.map(({ text }) => text),
    `export interface ${client} {\n${written.map(({ member }) => member).join('')}}\n`,
    `/** Throws a TypeError for options that can't work. */\nexport const connect = (options: $.ClientOptions): ${client} =>\n  $.createClient<${client}>(options, ${quote(model.version)}, {\n${model.resources.map((each) => writeFacts(each, model, integers)).join('')}  });\n`,
  ].join('\n');
}
