// Writes the Python client of a version: a module with its types, and the runtime next to it.
import { readFile } from 'node:fs/promises';
import {
  createNames,
  firstSentence,
  listPaths,
  type Model,
  type Path,
  type Property,
  type ResourceModel,
  takesExpandAsFilter,
  toPascalCase,
  type ValueType,
} from './model.ts';

const keywords = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
);
const isIdentifier = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !keywords.has(name);

/** A literal that Python reads as JSON does; `'` and `"` alike. */
const quote = (text: string): string => JSON.stringify(text).replace(/[\u007f-\uffff]/g, escape16);
const escape16 = (char: string): string => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A docstring of one line. */
function docstring(about: string, indent: string): string {
  const text = firstSentence(about).replaceAll('\\', '\\\\').replaceAll('"', '\\"');
  return text === '' ? '' : `${indent}"""${text}"""\n`;
}

const union = (types: readonly string[]): string => {
  const distinct = [...new Set(types)];
  return distinct.length === 1 ? (distinct[0] ?? '') : `t.Union[${distinct.join(', ')}]`;
};

const kinds = {
  text: 'str',
  time: 'str',
  number: '_r.Decimal',
  integer: 'int',
  boolean: 'bool',
  unknown: 't.Any',
} as const;

/** Of what the service answers. Objects are classes of their own, which `define` writes. */
function answerType(type: ValueType, define: (properties: readonly Property[]) => string): string {
  const more = [...(type.isMasked ? ['str'] : []), ...(type.nullable ? ['None'] : [])];
  if (type.list !== undefined) return union([`t.List[${answerType(type.list, define)}]`, ...more]);
  if (type.object !== undefined) return union([define(type.object), ...more]);
  return type.kind === 'unknown' ? 't.Any' : union([kinds[type.kind], ...more]);
}

/** Of what a request takes. */
function parameterType(type: ValueType): string {
  if (type.list !== undefined) {
    const item = parameterType(type.list);
    return union([item, `t.Sequence[${item}]`]);
  }
  if (type.choices.length > 0) return `t.Literal[${type.choices.map(quote).join(', ')}]`;
  return type.isWide ? '_r.Numeric' : { ...kinds, number: '_r.Numeric' }[type.kind];
}

type Entry = { readonly name: string; readonly about: string; readonly type: string };

/** Names that aren't identifiers need the form of a call, where types are text. */
function typedDict(
  {
    name,
    about = '',
    bases = [],
    total,
  }: { name: string; about?: string; bases?: readonly string[]; total: boolean },
  entries: readonly Entry[],
): string {
  const odd = entries.filter((entry) => !isIdentifier(entry.name));
  const parents = odd.length > 0 ? [...bases, `_${name}`] : bases;
  const suffix = total ? '' : ', total=False';
  const call =
    odd.length === 0
      ? ''
      : `_${name} = t.TypedDict(\n    ${quote(`_${name}`)},\n    {${odd.map((entry) => `${quote(entry.name)}: ${quote(entry.type)}`).join(', ')}}${suffix},\n)\n\n\n`;
  const lines = entries
    .filter((entry) => isIdentifier(entry.name))
    .map((entry) => `    ${entry.name}: ${entry.type}\n${docstring(entry.about, '    ')}`);
  const body = docstring(about, '    ') + lines.join('');
  const extended = parents.length > 0 ? parents.join(', ') : 't.TypedDict';
  return `${call}class ${name}(${extended}${suffix}):\n${body === '' ? '    pass\n' : body}`;
}

const parametersOf = (properties: readonly Property[]): Entry[] =>
  properties.map(({ name, about, type }) => ({ name, about, type: parameterType(type) }));

/** Writes the dictionaries of a resource, and collects their text in `parts`. */
function createWriter(record: string, unique: (name: string) => string) {
  const parts: string[] = [];
  const answers = (properties: readonly Property[]): Entry[] =>
    properties.map(({ name, about, type }) => ({
      ...{ name, about },
      type: answerType(type, (inner) =>
        add(`${record}${toPascalCase(name)}`, answers(inner), { total: true }),
      ),
    }));
  const add = (
    wanted: string,
    entries: readonly Entry[],
    options: { about?: string; bases?: readonly string[]; total: boolean },
  ): string => {
    const name = wanted === record ? record : unique(wanted);
    parts.push(typedDict({ name, ...options }, entries));
    return name;
  };
  return { parts, answers, add };
}
const shapeOf = ({ fields, relations }: ResourceModel): Entry[] => {
  const choose = (names: readonly string[]) => `t.Sequence[t.Literal[${names.map(quote).join(', ')}]]`;
  const relationNames = relations.map(({ name }) => name);
  return [
    {
      name: 'fields',
      about: 'Only these fields; `id` is always included.',
      type: choose(fields.map(({ name }) => name)),
    },
    ...(relations.length === 0
      ? []
      : [{ name: 'expand', about: 'Embeds related records.', type: choose(relationNames) }]),
  ];
};
const paging: readonly Entry[] = ['page', 'pageSize'].map((name) => ({ name, about: '', type: 'int' }));

const change = (op: string, record: string): Entry[] =>
  [
    ['op', `t.Literal["${op}"]`],
    ['id', 'str'],
    ['at', 'str'],
    ['record', record],
  ].map(([name = '', type = '']) => ({
    ...{ name, type },
    about: '',
  }));

const method = (name: string, parameters: string, result: string, body: string): string =>
  `    def ${name}(self, ${parameters}) -> ${result}:\n        return ${body}\n`;

type Writer = ReturnType<typeof createWriter>;

function writeRecord({ record, about, fields, relations }: ResourceModel, { answers, add }: Writer): void {
  const own = answers(fields);
  const related = relations.map((each) => ({
    ...{ name: each.name, about: '' },
    type: `t.Optional[${each.record}]`,
  }));
  const bases = related.length === 0 ? [] : [add(`${record}Related`, related, { total: false })];
  add(record, own, { about, total: true, bases });
}

const unpack = (name: string): string => `**parameters: _te.Unpack[${name}]`;

/** `selecting` is the class of the filters. */
function writeReads(resource: ResourceModel, selecting: string, { add }: Writer): string[] {
  const { record, sorting } = resource;
  const shape = shapeOf(resource);
  const shaping = add(`${record}Shape`, shape, { total: false });
  const exported = [...parametersOf(sorting), ...shape.slice(0, 1)];
  const exporting = add(`${record}ExportParameters`, exported, { bases: [selecting], total: false });
  const listed = [...paging, ...shape.slice(1)];
  const listing = add(`${record}ListParameters`, listed, { bases: [exporting], total: false });
  const found = `t.cast(${quote(record)}, self._get(id, parameters))`;
  return [
    method('list', `/, ${unpack(listing)}`, `_r.Records[${record}]`, '_r.Records(self, parameters)'),
    method('get', `id: str, /, ${unpack(shaping)}`, record, found),
    method('export', `/, ${unpack(exporting)}`, `t.Iterator[${record}]`, 'self._export(parameters)'),
  ];
}

function writeChanges(record: string, { add }: Writer): string {
  const kinds = [
    add(`${record}Reset`, change('reset', '').slice(0, 1), {
      ...{ about: 'Discard your copy; what comes next is everything.', total: true },
    }),
    add(`${record}Upsert`, change('upsert', record), { total: true }),
    add(`${record}Deletion`, change('delete', 'None'), { total: true }),
  ];
  const options = 'store: t.Optional[_r.ChangeStore] = None, since: t.Optional[str] = None';
  const result = `_r.Changes[${union(kinds)}]`;
  return method('changes', `*, ${options}`, result, '_r.Changes(self, store, since)');
}

function writeSummary(
  { record, summary }: ResourceModel,
  selecting: string,
  { add, answers }: Writer,
): string[] {
  if (summary === undefined) return [];
  const own = parametersOf(summary.parameters);
  const parameters = add(`${record}SummaryParameters`, own, { bases: [selecting], total: false });
  const row = add(`${record}SummaryRow`, answers(summary.row), { total: false });
  return [method('summary', `/, ${unpack(parameters)}`, `_r.Summary[${row}]`, 'self._summary(parameters)')];
}

/** The types of a resource and its class. */
function writeResource(resource: ResourceModel, unique: (name: string) => string) {
  const { record, filters, about } = resource;
  const writer = createWriter(record, unique);
  writeRecord(resource, writer);
  const selecting = writer.add(`${record}Filters`, parametersOf(filters), { total: false });
  const methods = [
    ...writeReads(resource, selecting, writer),
    writeChanges(record, writer),
    ...writeSummary(resource, selecting, writer),
  ];
  const kind = unique(`${record}Resource`);
  const text = `class ${kind}(_r.Resource):\n${docstring(about, '    ')}${methods.join('\n')}`;
  return { kind, text: [...writer.parts, text].join('\n\n') };
}

const numbersOf = (paths: readonly Path[]): string => {
  const found = paths.filter(({ type }) => type.kind === 'number' || type.kind === 'integer');
  return `{${found.map(({ path, type }) => `${quote(path)}: ${kinds[type.kind]}`).join(', ')}}`;
};

function memberOf(resource: ResourceModel, model: Model, kind: string): string {
  const { name, maxPageSize } = resource;
  const attribute = name.replaceAll('-', '_');
  const numbers = numbersOf(listPaths(resource, model.resources));
  const inRows = numbersOf((resource.summary?.row ?? []).map((each) => ({ ...each, path: each.name })));
  const more = takesExpandAsFilter(resource) ? ', expands=False' : '';
  const base = quote(`/api/public/${model.version}/${name}`);
  return `        self.${keywords.has(attribute) ? `${attribute}_` : attribute} = ${kind}(transport, ${base}, ${maxPageSize}, ${numbers}, ${inRows}${more})\n`;
}

/** Where a record is called like a constant of Python, it gets another name. */
function renameRecords(model: Model): Model {
  const rename = (record: string) => (keywords.has(record) ? `${record}_` : record);
  const resources = model.resources.map((resource) => ({
    ...resource,
    record: rename(resource.record),
    relations: resource.relations.map((each) => ({ ...each, record: rename(each.record) })),
  }));
  return { ...model, resources };
}

function writeModule(model: Model): string {
  const unique = createNames(model);
  const listed = ['ApiError', 'ConnectionFailed', 'FileStore', 'Interrupted'];
  const client = unique('Portal');
  const written = model.resources.map((resource) => ({ resource, ...writeResource(resource, unique) }));
  const members = written.map(({ resource, kind }) => memberOf(resource, model, kind));
  return `"""Written by \`portal pull\` for version ${model.version}. Do not edit: the next pull replaces it."""

from __future__ import annotations

import typing as t

from . import _runtime as _r

${listed.map((name) => `${unique(name)} = _r.${name}\n`).join('')}
if t.TYPE_CHECKING:
    import typing_extensions as _te


${written.map(({ text }) => text).join('\n\n')}

class ${client}:
    def __init__(self, transport: _r.Transport) -> None:
${members.join('')}

def connect(
    base_url: str,
    key: t.Union[str, t.Callable[[], str]],
    tenant: t.Optional[str] = None,
    *,
    timeout: float = 30.0,
    max_retries: int = 6,
    max_cached: int = 100,
) -> ${client}:
    """Raises ValueError for options that can't work."""
    options = {"timeout": timeout, "max_retries": max_retries, "max_cached": max_cached}
    return ${client}(_r.Transport(base_url, key, tenant, **t.cast(t.Any, options)))
`;
}

/** The files of the client by name. `__init__.py` makes their folder a package. */
export async function writePython(model: Model): Promise<Record<string, string>> {
  const runtime = await readFile(new URL('../../python/runtime.py', import.meta.url), 'utf8');
  return {
    '__init__.py': '',
    '_runtime.py': runtime,
    [`${model.version}.py`]: writeModule(renameRecords(model)),
  };
}
