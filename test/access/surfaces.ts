// The ways by which records leave the service, each with its check against the oracle. A surface that is added
// to the service belongs here and, with the line that carries the scope, in surface-patches.ts.
import { parse as parseCsv } from 'csv-parse/sync';
import readXlsxFile from 'read-excel-file/node';
import { expect } from 'vitest';
import type { Answer } from './call.ts';
import { checkDescription } from './descriptions.ts';
import { type ExactRecord, outOfScope, readability, type VersionModel, visibleFields } from './model.ts';
import {
  allowedNames,
  buildPath,
  type Case,
  computeExpected,
  type Expected,
  findRefusal,
  inspect,
  select,
  usability,
} from './oracle.ts';
import { fieldsText, filterText, orderText, pageText, plainQuery, toolInput } from './queries.ts';
import { createRandom, parseExact } from './random.ts';

export type Answered = Extract<Expected, { kind: 'answered' }>;
const exact = (value: unknown): string => JSON.stringify(value);
type ErrorBody = {
  error: { code: string; message: string; details?: { path: string; code: string }[]; requestId: string };
};
export const codesIn = ({ text }: Pick<Answer, 'text'>): string[] =>
  ((JSON.parse(text) as Partial<ErrorBody>).error?.details ?? []).map(({ code }) => code);

/** Names of the resource, such as those of stale fields; none where it isn't readable. */
const visibleNames = (one: Case): Set<string> =>
  findRefusal(one, []) === undefined ? allowedNames(one, 'resource') : new Set();

/** Throws unless the answer is the expected refusal, with no word of what it hides. */
export function checkRefusal(
  one: Case,
  answer: Answer,
  path: string,
  { statuses, codes }: Extract<Expected, { kind: 'refused' }>,
): void {
  expect(statuses, answer.text).toContain(answer.status);
  expect(
    codesIn(answer).some((code) => codes.includes(code)),
    answer.text,
  ).toBe(true);
  inspect(one, answer, path, { names: visibleNames(one) });
}

export const toPage = ({ query: { page, pageSize } }: Case, { records }: Answered) => {
  const total = records.length;
  return {
    records: records.slice((page - 1) * pageSize, page * pageSize),
    pagination: { total, page, pageSize, totalPages: Math.ceil(total / pageSize) },
  };
};
export const numbered = (value: object): object =>
  Object.fromEntries(Object.entries(value).map(([name, number]) => [name, `#${number}`]));

/** Reads a path and checks the answer by `check`, or the refusal. */
export async function read(
  one: Case,
  path: string,
  expected: Expected,
  headers: Record<string, string>,
  check: (answer: Answer, expected: Answered) => void,
): Promise<Answer> {
  const answer = await one.oracle.get(one.reader, path, headers);
  if (expected.kind === 'refused') checkRefusal(one, answer, path, expected);
  else {
    expect(answer.status, answer.text).toBe(200);
    inspect(one, answer, path, {
      names: allowedNames(one, 'resource'),
      records: expected.records.map((record) => select(one.query, record)),
    });
    if (!answer.isWhole) throw new Error(`${path}: the answer ends early`);
    check(answer, expected);
  }
  return answer;
}

const listPath = (one: Case): string =>
  buildPath(
    one.version,
    one.endpoint,
    filterText(one.query),
    orderText(one.query),
    fieldsText(one.query),
    pageText(one.query),
  );

function checkPage(one: Case, { text }: Pick<Answer, 'text'>, expected: Answered): void {
  const { records, pagination } = toPage(one, expected);
  expect(exact(parseExact(text))).toBe(
    exact({ data: records.map((record) => select(one.query, record)), pagination: numbered(pagination) }),
  );
}

async function checkList(one: Case): Promise<void> {
  const expected = await computeExpected(one);
  const answer = await read(one, listPath(one), expected, {}, (found) =>
    checkPage(one, found, expected as Answered),
  );
  if (expected.kind === 'refused' || answer.headers['link'] === undefined) return;
  const last = /[?&]page=(\d+)>; rel="last"/.exec(answer.headers['link'])?.[1];
  expect(Number(last)).toBe(Math.max(1, toPage(one, expected).pagination.totalPages));
}

/** Every page in turn, so that deep ones are read by anchors, and one beyond the last. */
async function checkPages(one: Case): Promise<void> {
  const expected = await computeExpected(one);
  if (expected.kind === 'refused') return;
  const pageSize = Math.min(one.endpoint.maxPageSize, 7);
  const pages = Math.ceil(expected.records.length / pageSize) + 1;
  for (const page of [pages, pages - 1, Math.ceil(pages / 2), 1].filter((at) => at > 0)) {
    const paged = { ...one, query: { ...one.query, page, pageSize } };
    await read(paged, listPath(paged), expected, {}, (found) => checkPage(paged, found, expected));
  }
}

/** Ids of the records within the scope; empty where the resource isn't readable. */
export async function readableIds(one: Case): Promise<Set<string>> {
  const expected = await computeExpected(one, []);
  return new Set(expected.kind === 'answered' ? expected.whole.map(({ id }) => id) : []);
}

async function checkRecord(one: Case): Promise<void> {
  const { oracle, version, endpoint, query, reader } = one;
  const expected = await computeExpected(one, ['fields']);
  const all = (await oracle.wholeRecords(version, endpoint, plainQuery)).map(({ id }) => id);
  const own = await readableIds(one);
  const random = createRandom(one.seed);
  const pathTo = (id: string): string =>
    `${version.version}/${endpoint.name}/${id}${query.fields === null ? '' : `?${fieldsText(query)[0]}`}`;
  const [ownIds, foreignIds] = [all.filter((id) => own.has(id)), all.filter((id) => !own.has(id))];
  if (ownIds.length > 0) {
    const id = random.pick(ownIds);
    await read(one, pathTo(id), expected, {}, ({ text }, { records }) => {
      const wanted = records.find((record) => record['id'] === id) ?? {};
      expect(exact(parseExact(text))).toBe(exact({ data: select(query, wanted) }));
    });
  }
  for (const id of random.some(foreignIds).slice(0, 2)) {
    const other = await oracle.get(oracle.whole, pathTo(id));
    const tag = random.pick(['', '*', other.headers['etag'] ?? '*']);
    const headers = tag === '' ? {} : { 'if-none-match': tag };
    const foreign = await oracle.get(reader, pathTo(id), headers);
    const absent = await oracle.get(reader, pathTo('880000000'), headers);
    inspect(one, foreign, pathTo(id), { names: allowedNames(one, 'resource') });
    if (expected.kind === 'answered') expect(foreign.status, foreign.text).toBe(404);
    expect(withoutIds(foreign, id)).toEqual(withoutIds(absent, '880000000'));
  }
}

/** Equal for equal refusals of two ids. */
const withoutIds = ({ status, text, headers }: Answer, id: string) => {
  const { date: _date, 'x-request-id': _request, etag: _etag, ...rest } = headers;
  const { error } = JSON.parse(text) as ErrorBody;
  return { status, rest, error: exact({ ...error, requestId: '' }).replaceAll(id, '') };
};

const exportPath = (one: Case): string =>
  buildPath(one.version, one.endpoint, filterText(one.query), orderText(one.query), fieldsText(one.query));

async function checkJsonLines(one: Case): Promise<void> {
  await read(
    one,
    exportPath(one),
    await computeExpected(one),
    { accept: 'application/x-ndjson' },
    ({ text, headers }, { records }) => {
      expect(headers['x-total-count']).toBe(String(records.length));
      const lines = text
        .split('\n')
        .filter(Boolean)
        .map((line) => exact(parseExact(line)));
      expect(lines).toEqual(records.map((record) => exact(select(one.query, record))));
    },
  );
}

const cellText = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value).replace(/^#/, '');

async function checkCsv(one: Case): Promise<void> {
  await read(
    one,
    exportPath(one),
    await computeExpected(one),
    { accept: 'text/csv' },
    ({ text }, { records }) => {
      const selected = records.map((record) => select(one.query, record));
      const lines = new Set(
        one.endpoint.fields.filter(({ kind }) => kind === 'lines').map(({ name }) => name),
      );
      const names = Object.keys(
        select(one.query, {
          id: '',
          ...Object.fromEntries(visibleFields(one.reader.access, one.endpoint).map(({ name }) => [name, ''])),
        }),
      );
      const [head = [], ...rows] = parseCsv(text, { relaxColumnCount: false }) as string[][];
      expect(head).toEqual(names);
      const read = rows.map((row) =>
        row.map((cell, at) => (lines.has(names[at] ?? '') && cell !== '' ? exact(parseExact(cell)) : cell)),
      );
      expect(read).toEqual(
        selected.map((record) =>
          names.map((name) =>
            lines.has(name) && record[name] !== null ? exact(record[name]) : cellText(record[name]),
          ),
        ),
      );
    },
  );
}

type Cell = string | number | boolean | Date | null | undefined;
/** Whether the cell shows this value of a record, in a type of its own. */
function shows(cell: Cell, value: unknown): boolean {
  if (cell instanceof Date) return Math.abs(cell.getTime() - Date.parse(String(value))) <= 1;
  if (typeof cell === 'number') return Number(cellText(value)) === cell;
  // A cell holds no longer text.
  return typeof cell === 'boolean' ? cell === value : (cell ?? '') === cellText(value).slice(0, 32_767);
}

async function checkWorkbook(one: Case): Promise<void> {
  const expected = await computeExpected(one);
  const accept = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
  const answer = await one.oracle.get(one.reader, exportPath(one), { accept });
  if (expected.kind === 'refused') return checkRefusal(one, answer, exportPath(one), expected);
  expect([answer.status, answer.isWhole]).toEqual([200, true]);
  const records = expected.records.map((record) => select(one.query, record));
  const linesNames = one.endpoint.fields.flatMap(({ kind, name }) => (kind === 'lines' ? [name] : []));
  const [list, ...ofLines] = await readXlsxFile(answer.raw, { trim: false });
  const text = exact([list, ...ofLines]);
  inspect(one, { ...answer, text }, exportPath(one), { names: allowedNames(one, 'resource'), records });
  const wanted = new Map([[list?.sheet, records]]);
  for (const name of linesNames)
    wanted.set(
      name,
      records.flatMap(({ id, [name]: lines }) =>
        ((lines ?? []) as ExactRecord[]).map((line, index) => ({ ...line, id, line: `#${index + 1}` })),
      ),
    );
  for (const { sheet, data } of [list, ...ofLines].filter((each) => each !== undefined)) {
    const [head = [], ...rows] = data as Cell[][];
    const shown = wanted.get(sheet) ?? [];
    expect([sheet, rows.length]).toEqual([sheet, shown.length]);
    for (const [index, record] of shown.entries())
      for (const [at, name] of head.entries())
        if (!shows(rows[index]?.[at], record[String(name)]))
          expect([sheet, index, name, rows[index]?.[at]]).toEqual([sheet, index, name, record[String(name)]]);
  }
}

const unstable = new Set(['date', 'x-request-id', 'connection', 'keep-alive']);
const stableHeaders = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !unstable.has(name)));

async function checkHead(one: Case): Promise<void> {
  const path = `/api/public/${listPath(one)}`;
  const headers = {
    authorization: `Bearer ${one.reader.secret}`,
    'x-tenant-id': one.oracle.fixture.organizationId,
  };
  const whole = await one.oracle.get(one.reader, listPath(one));
  const head = await one.oracle.service.call({ method: 'HEAD', path, headers });
  expect([head.status, head.raw.length]).toEqual([whole.status, 0]);
  if (whole.status === 200) expect(stableHeaders(head)).toEqual(stableHeaders(whole));
  inspect(one, head, path, { names: visibleNames(one) });
}

async function checkGzip(one: Case): Promise<void> {
  for (const [path, accept] of [
    [listPath(one), 'application/json'],
    [exportPath(one), 'text/csv'],
  ] as const) {
    const [plain, packed] = [
      await one.oracle.get(one.reader, path, { accept }),
      await one.oracle.get(one.reader, path, { accept, 'accept-encoding': 'gzip' }),
    ];
    expect(packed.status).toBe(plain.status);
    if (plain.status === 200) expect(packed.text).toBe(plain.text);
  }
}

/** A 304 says that the body is the one that the caller has: only with the tag of the same bytes. */
async function checkTags(one: Case): Promise<void> {
  const { oracle, reader, version, endpoint } = one;
  const [id] = await readableIds(one);
  const address = `${version.version}/${endpoint.name}`;
  for (const path of [
    listPath(one),
    `${address}/changes`,
    ...(id === undefined ? [] : [`${address}/${id}`]),
  ]) {
    const other = await oracle.get(oracle.whole, path);
    const own = await oracle.get(reader, path);
    const byOther = await oracle.get(reader, path, { 'if-none-match': other.headers['etag'] ?? '"none"' });
    if (byOther.status === 304) expect(own.text).toBe(other.text);
    else
      expect([byOther.status, byOther.status === 200 ? byOther.text : '']).toEqual([
        own.status,
        own.status === 200 ? own.text : '',
      ]);
    if (own.status !== 200) continue;
    const again = await oracle.get(reader, path, { 'if-none-match': own.headers['etag'] ?? '' });
    expect([again.status, again.raw.length]).toEqual([304, 0]);
    inspect(one, again, path, { names: visibleNames(one) });
  }
}

/** Its tag gives 304, and the tag of an unlimited reader only where both read the same. */
export async function checkTagOf({ oracle, reader }: Case, path: string, answer: Answer): Promise<void> {
  const again = await oracle.get(reader, path, { 'if-none-match': answer.headers['etag'] ?? '' });
  expect([again.status, again.raw.length]).toEqual([304, 0]);
  const other = await oracle.get(oracle.whole, path);
  const byOther = await oracle.get(reader, path, { 'if-none-match': other.headers['etag'] ?? '"none"' });
  expect(byOther.status === 304 ? other.text : byOther.text).toBe(answer.text);
}

async function checkErrors(one: Case): Promise<void> {
  const { oracle, reader, version, endpoint } = one;
  const random = createRandom(one.seed);
  const name = random.pick(endpoint.fields).name;
  const parameters = [
    `${name}=1`,
    `${name}x=1`,
    `sort=${name}x`,
    `sort=${name}`,
    `fields=${name}x`,
    `fields=${name},id`,
    `${name}_gt=zzz`,
    'page=0',
    'since=x',
  ];
  // Whether something exists is looked at after the scopes.
  for (const [name, resource] of [
    [version.version, endpoint.name.slice(0, -1)],
    ['v99', endpoint.name],
    ['v99', endpoint.name.slice(0, -1)],
  ] as const) {
    const code = outOfScope(reader.access, name, resource);
    const answer = await oracle.get(reader, `${name}/${resource}`);
    expect([answer.status, codesIn(answer)], answer.text).toEqual(
      code === undefined ? [404, ['not_found']] : [403, [code]],
    );
    inspect(one, answer, endpoint.name, { names: allowedNames(one, 'resource') });
  }
  const paths = [
    ...random.some(parameters, 4).map((parameter) => buildPath(version, endpoint, [parameter])),
    `${version.version}/${endpoint.name}/changes?since=abc`,
    `${version.version}/${endpoint.name}/changes?limit=0`,
    `openapi/${version.version}?draft=true`,
  ];
  for (const path of paths) {
    const answer = await oracle.get(reader, path);
    expect(answer.status, answer.text).toBeLessThan(500);
    if (answer.status >= 400) inspect(one, answer, path, { names: allowedNames(one, 'resource') });
  }
}

/** JSON text of a tool's result, as an agent gets it over `/mcp`. */
export async function callTool(
  { oracle: { service }, reader }: Case,
  name: string,
  input: object,
): Promise<Answer & { readonly isError: boolean }> {
  const answer = await service.call({
    method: 'POST',
    path: '/mcp',
    headers: { authorization: `Bearer ${reader.secret}`, accept: 'application/json, text/event-stream' },
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: input } },
  });
  expect(answer.status, answer.text).toBe(200);
  const { result } = JSON.parse(answer.text) as {
    result: { content: { text: string }[]; isError?: boolean };
  };
  return { ...answer, text: result.content[0]?.text ?? '', isError: result.isError === true };
}

/**
 * Checks a tool's answer; null when it is an error, as it may be when the records are too long for a tool.
 */
export async function useTool(
  one: Case,
  name: string,
  input: object,
  expected: Expected,
  names: ReadonlySet<string>,
): Promise<Record<string, unknown> | null> {
  const answer = await callTool(one, name, input);
  if (expected.kind === 'refused') {
    expect(answer.isError, answer.text).toBe(true);
    expect(
      codesIn(answer).some((code) => expected.codes.includes(code)),
      answer.text,
    ).toBe(true);
    inspect(one, answer, exact(input), { names: findRefusal(one, []) === undefined ? names : new Set() });
    return null;
  }
  if (answer.isError) {
    expect(codesIn(answer)).toEqual(['answer_too_long']);
    inspect(one, answer, exact(input), { names });
    return null;
  }
  inspect(one, answer, exact(input), {
    names,
    records: expected.records.map((record) => select(one.query, record)),
  });
  return parseExact(answer.text) as Record<string, unknown>;
}

export const toTarget = ({ version, endpoint }: Case) => ({
  version: version.version,
  resource: endpoint.name,
});

async function checkQueryTool(one: Case): Promise<void> {
  const expected = await computeExpected(one);
  const found = await useTool(
    one,
    'query',
    { ...toTarget(one), ...toolInput(one.query) },
    expected,
    allowedNames(one, 'resource'),
  );
  if (found === null || expected.kind === 'refused') return;
  const { records, pagination } = toPage(one, expected);
  const data = found['data'] as unknown[];
  if (found['cut'] === undefined) expect(data.length).toBe(records.length);
  expect(exact(data)).toBe(exact(records.slice(0, data.length).map((record) => select(one.query, record))));
  expect(found['pagination']).toEqual(numbered(pagination));
}

async function checkGetTool(one: Case): Promise<void> {
  const { oracle, version, endpoint, query } = one;
  const expected = await computeExpected(one, ['fields']);
  const all = (await oracle.wholeRecords(version, endpoint, plainQuery)).map(({ id }) => id);
  const id = createRandom(one.seed).pick(all);
  const input = { ...toTarget(one), id, ...(query.fields !== null && { fields: query.fields }) };
  if ((await readableIds(one)).has(id)) {
    const found = await useTool(one, 'get', input, expected, allowedNames(one, 'resource'));
    const own =
      expected.kind === 'answered' ? expected.records.find((record) => record['id'] === id) : undefined;
    if (found !== null && own !== undefined) expect(exact(found['data'])).toBe(exact(select(query, own)));
    return;
  }
  const [foreign, absent] = [
    await callTool(one, 'get', input),
    await callTool(one, 'get', { ...input, id: '880000000' }),
  ];
  inspect(one, foreign, exact(input), { names: allowedNames(one, 'resource') });
  expect([foreign.isError, withoutIds(foreign, id).error]).toEqual([
    true,
    withoutIds(absent, '880000000').error,
  ]);
}

async function checkDescribeTool(one: Case): Promise<void> {
  const bare = { ...one, query: plainQuery };
  const expected = await computeExpected(bare, []);
  const found = await useTool(bare, 'describe', toTarget(one), expected, allowedNames(one, 'resource'));
  if (found !== null && expected.kind === 'answered') {
    const visible = visibleFields(one.reader.access, one.endpoint);
    expect((found['fields'] as { name: string }[]).map(({ name }) => name)).toEqual([
      'id',
      ...visible.map(({ name }) => name),
    ]);
    expect(found['records']).toBe(`#${expected.records.length}`);
    type Described = { filters?: string[]; fields?: Described[] };
    const filtersIn = (fields: readonly Described[]): string[] =>
      fields.flatMap(({ filters = [], fields: lines = [] }) => [...filters, ...filtersIn(lines)]);
    const usable = one.endpoint.filters.filter(
      ({ field }) => usability(one.reader.access, one.endpoint, field) === 'usable',
    );
    expect(new Set(filtersIn(found['fields'] as Described[]))).toEqual(
      new Set(usable.map(({ parameter }) => parameter)),
    );
  }
  await checkListings(one);
}

/** The versions, and the resources of one, that the reader may read. */
async function checkListings(one: Case): Promise<void> {
  const { oracle, version } = one;
  const { access } = one.reader;
  const listReadable = ({ version: name, endpoints }: VersionModel): string[] =>
    endpoints
      .filter((endpoint) => readability(access, name, endpoint) === 'readable')
      .map((endpoint) => endpoint.name);
  const hasRows = access.layers.some(({ rows }) => rows !== null);
  const versions = oracle.fixture.versions
    .filter((other) => outOfScope(access, other.version, null) === undefined)
    .map((other) => ({ version: other.version, resources: listReadable(other) }))
    .filter(({ resources }) => !hasRows || resources.length > 0);
  const all = await callTool(one, 'describe', {});
  inspect(one, all, '', { names: allowedNames(one, 'all') });
  const listed = (JSON.parse(all.text) as { versions: Record<string, unknown>[] }).versions;
  const byVersion = new Map(listed.map((item) => [item['version'], item['resources']]));
  expect(byVersion).toEqual(new Map(versions.map((item) => [item.version, item.resources])));
  const own = await callTool(one, 'describe', { version: version.version });
  inspect(one, own, '', { names: allowedNames(one, 'version') });
  if (outOfScope(access, version.version, null) !== undefined)
    return void expect(codesIn(own)).toEqual(['version_out_of_scope']);
  const { resources } = JSON.parse(own.text) as { resources: { resource: string }[] };
  expect(resources.map(({ resource }) => resource)).toEqual(listReadable(version));
}

export type Surface = { readonly name: string; check(one: Case): Promise<void> };

/** Those of plain lists and records. The others are in files of their own: see run-cases.ts. */
export const readSurfaces: readonly Surface[] = [
  { name: 'list', check: checkList },
  { name: 'pages', check: checkPages },
  { name: 'record', check: checkRecord },
  { name: 'export as JSON lines', check: checkJsonLines },
  { name: 'export as CSV', check: checkCsv },
  { name: 'export as a workbook', check: checkWorkbook },
  { name: 'HEAD', check: checkHead },
  { name: 'gzip', check: checkGzip },
  { name: 'entity tags', check: checkTags },
  { name: 'errors', check: checkErrors },
  { name: 'query of /mcp', check: checkQueryTool },
  { name: 'get of /mcp', check: checkGetTool },
  { name: 'describe of /mcp', check: checkDescribeTool },
  { name: 'description', check: checkDescription },
];
