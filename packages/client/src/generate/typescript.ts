// Writes the TypeScript client of a version.
import {
  createNames,
  firstSentence,
  listPaths,
  type Model,
  type Property,
  type ResourceModel,
  takesExpandAsFilter,
  toPascalCase,
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

type Context = { readonly integers: IntegerForm; readonly unique: (name: string) => string };

/** Writes interfaces whose properties are what the service answers. Lines of records get interfaces of their own. */
function createAnswers({ integers, unique }: Context) {
  const parts: string[] = [];
  const toType = (type: ValueType, name: string): string => {
    const more = [...(type.isMasked ? ['string'] : []), ...(type.nullable ? ['null'] : [])];
    if (type.list !== undefined) {
      const { object } = type.list;
      const item = object === undefined ? toType(type.list, name) : write({ name: unique(name) }, object);
      return join([`readonly ${item.includes(' ') ? `(${item})` : item}[]`, ...more]);
    }
    if (type.object !== undefined)
      return join([objectType(type.object, (inner) => toType(inner, name)), ...more]);
    if (type.kind === 'unknown') return 'unknown';
    const wide = type.isWide ? [integers === 'bigint' ? 'bigint' : 'string'] : [];
    return join([answerKinds[type.kind], ...wide, ...more]);
  };
  const write = (written: Written, properties: readonly Property[]): string => {
    const property = ({ name, type }: Property) =>
      `${keyOf(name)}: ${toType(type, written.name + toPascalCase(name))}`;
    parts.push(writeInterface(written, properties, property));
    return written.name;
  };
  return { parts, write };
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

/** The types of a resource, and the line that names them in the interface of the client. */
function writeResource(resource: ResourceModel, context: Context) {
  const { record, about, property, fields, relations, filters, sorting, summary } = resource;
  const { unique } = context;
  const { parts, write } = createAnswers(context);
  write({ name: record, about }, fields);
  const filter = unique(`${record}Filters`);
  parts.push(writeInterface({ name: filter }, filters, parameter));
  const parents = ` extends ${filter}`;
  const writeParameters = (name: string, own: readonly Property[]): string => {
    parts.push(writeInterface({ name, parents }, own, parameter));
    return name;
  };
  const types = [`record: ${record}`, `selection: ${writeParameters(unique(`${record}Selection`), sorting)}`];
  if (relations.length === 0) types.push('related: $.None');
  else {
    const name = unique(`${record}Related`);
    const lines = relations.map((each) => `  readonly ${keyOf(each.name)}: ${each.record} | null;\n`);
    parts.push(`export interface ${name} {\n${lines.join('')}}\n`);
    types.push(`related: ${name}`);
  }
  if (summary === undefined) types.push('summary: never');
  else {
    const parameters = writeParameters(unique(`${record}SummaryParameters`), summary.parameters);
    const row = write({ name: unique(`${record}SummaryRow`) }, summary.row);
    types.push(`summary: { parameters: ${parameters}; row: ${row} }`);
  }
  const member = `${comment(about, '  ')}  readonly ${keyOf(property)}: $.Resource<{ ${types.join('; ')} }>;\n`;
  return { text: parts.join('\n'), member };
}

const writeFacts = (resource: ResourceModel, { resources }: Model, integers: IntegerForm): string => {
  const { name, property, maxPageSize } = resource;
  const wide = listPaths(resource, resources).filter(({ type }) => type.isWide);
  const paths = wide.map(({ path }) => path);
  const facts = {
    ...{ name, maxPageSize },
    ...(takesExpandAsFilter(resource) && { expands: false }),
    ...(integers === 'bigint' && { integers: paths }),
  };
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
