// What the control interface does to records. Every change is a command: with a journal they are appended to a file, and
// done again when the service starts from it, which leads to the same records, change numbers and delta links.
import { appendFileSync, existsSync, readFileSync, truncateSync } from 'node:fs';
import type { Clock } from 'netsuite-simulator/clock';
import { type ErrorDetail, invalid, notFound } from 'netsuite-simulator/control-error';
import { parseValue, type Values } from './edm.ts';
import { createSamples, generate, sampleLine, sampleNew, toBlank, toTime } from './generate.ts';
import type { EntitySet } from './profiles/profile.ts';
import { loadOrdered, type Row, type Store, type Table, toKey } from './store.ts';

type Fields = Readonly<Record<string, unknown>>;
export type LineEdit = { line: string; fields: Fields | null };
/**
 * `touch`: `header` (default): the header's modification time becomes now; `lines`: deltas have the change of the lines, the
 * time stays; `none`: neither. A time becomes that of the header.
 */
export type Edit = { fields?: Fields; lines?: LineEdit[]; touch?: string };
export type Place = { table: string; company?: string };
export type Bulk = { count: number; seed?: number; lines?: number; from?: string; stepSeconds?: number };
export type TrueRecord = {
  table: string;
  id: string;
  fields: Values;
  lines?: { line: string; fields: Values }[];
};

type Context = { store: Store; defaultCompany: () => string; at: Date };

const findSet = ({ store: { profile } }: Context, name: string): EntitySet => {
  const set = profile.sets.find((one) => one.name === name);
  if (!set) throw notFound(`The service has no entity set ${name}.`);
  return set;
};
const getTable = (context: Context, { table, company }: Place): Table =>
  context.store.table(company ?? context.defaultCompany(), findSet(context, table));
const findLineTable = (context: Context, place: Place, { set }: Table): Table | undefined =>
  set.lines && getTable(context, { ...place, table: set.lines.set });

/** Throws ControlError 422 for lines, which are changed through their header. */
function getEditable(context: Context, place: Place): Table {
  const table = getTable(context, place);
  const { header } = table.set;
  if (header) throw invalid({ path: 'table', message: `has lines: edit them through ${header.set}` });
  return table;
}

function getRow({ set, rows }: Table, key: string): Row {
  const row = rows.get(key);
  if (!row) throw notFound(`${set.name} has no entity ${key}.`);
  return row;
}

const numberOf = ({ set }: Table, { values }: Row): string => String(values[set.header?.number ?? '']);

function toTrueRecord(context: Context, place: Place, table: Table, row: Row): TrueRecord {
  const lineTable = findLineTable(context, place, table);
  const lines =
    lineTable && row.lines.map((line) => ({ line: numberOf(lineTable, line), fields: line.values }));
  return { table: table.set.name, id: row.key, fields: row.values, ...(lines && { lines }) };
}

function parseFields(
  { store: { profile } }: Context,
  { properties }: EntitySet,
  fields: Fields,
  path: string,
): Values {
  const problems: ErrorDetail[] = [];
  const values = Object.entries(fields).map(([name, given]) => {
    const property = properties[name];
    const value = property && parseValue(profile, property, given);
    if (!property) problems.push({ path: `${path}.${name}`, message: 'is an unknown field' });
    else if (value === undefined)
      problems.push({ path: `${path}.${name}`, message: `must be a value of ${property.type}` });
    return [name, value ?? null] as const;
  });
  if (problems.length > 0) throw invalid(...problems);
  return Object.fromEntries(values);
}

function touch(context: Context, { set }: Table, values: Values, given = 'header'): Values {
  const { changed } = set;
  if (changed === undefined || given === 'none' || given === 'lines') return values;
  const { store, at } = context;
  if (given === 'header') return { ...values, [changed]: toTime(store.profile, at, store.sequence()) };
  const time = parseValue(store.profile, { type: 'Edm.DateTimeOffset' }, given);
  if (time === undefined) throw invalid({ path: 'touch', message: 'must be header, lines, none or a time' });
  return { ...values, [changed]: time };
}

/** The lines as they will be. `fields: null` removes a line; an unknown number adds one. */
function planLines(context: Context, place: Place, lineTable: Table, header: Row, edits: LineEdit[]) {
  const { set } = lineTable;
  const { number = '', step = 1 } = set.header ?? {};
  const samples = createSamples(
    context.store,
    place.company ?? context.defaultCompany(),
    context.store.sequence(),
    context.at,
  );
  return edits.map(({ line, fields }, i) => {
    const existing = header.lines.find((row) => numberOf(lineTable, row) === line);
    if (fields === null) return { existing, values: undefined };
    const given = parseFields(context, set, { ...fields, [number]: line }, `lines[${i}].fields`);
    const values = {
      ...(existing?.values ?? sampleLine(samples, lineTable, header.values, Math.ceil(Number(line) / step))),
      ...given,
    };
    if (existing && toKey(set, values) !== existing.key)
      throw invalid({ path: `lines[${i}].fields`, message: 'can’t change the key' });
    return { existing, values };
  });
}

function applyLines(
  store: Store,
  lineTable: Table,
  header: Row,
  plan: ReturnType<typeof planLines>,
  isChange: boolean,
): void {
  const byNumber = (a: Row, b: Row): number =>
    Number(numberOf(lineTable, a)) - Number(numberOf(lineTable, b));
  for (const { existing, values } of plan) {
    if (values) {
      const line = store.put(lineTable, values, isChange);
      if (!existing) header.lines = [...header.lines, line].sort(byNumber);
    } else if (existing) {
      store.remove(lineTable, existing.key, isChange);
      header.lines = header.lines.filter((line) => line !== existing);
    }
  }
  if (isChange) store.noteLinesChange(header);
}

function edit(
  context: Context,
  place: Place,
  table: Table,
  values: Values,
  body: Edit,
  lines = body.lines ?? [],
): TrueRecord {
  const { store } = context;
  const lineTable = findLineTable(context, place, table);
  if (!lineTable && lines.length > 0)
    throw invalid({ path: 'lines', message: `is unknown: ${table.set.name} has no lines` });
  const touched = touch(context, table, values, body.touch);
  const known = table.rows.get(toKey(table.set, values));
  const header = known ?? { key: '', values, changedAt: 0, linesChangedAt: 0, lines: [] };
  const plan = lineTable ? planLines(context, place, lineTable, header, lines) : [];
  const isChange = body.touch !== 'none';
  const row = store.put(table, touched, isChange && body.touch !== 'lines');
  if (lineTable && plan.length > 0) applyLines(store, lineTable, row, plan, isChange);
  return toTrueRecord(context, place, table, row);
}

const COMMANDS = {
  /** Creates or replaces an entity; its lines are replaced when they are given. */
  put(context: Context, place: Place & { id: string }, body: Edit): TrueRecord {
    const table = getEditable(context, place);
    const { set } = table;
    const parts = place.id.split(',').map(decodeURIComponent);
    const key = parseFields(
      context,
      set,
      Object.fromEntries(set.keys.map((name, i) => [name, parts[i]])),
      'id',
    );
    const blanks = Object.entries(set.properties).map(([name, one]) => [
      name,
      toBlank(context.store.profile, one),
    ]);
    const empty: Values = Object.fromEntries(blanks);
    const values = { ...empty, ...parseFields(context, set, body.fields ?? {}, 'fields'), ...key };
    const lineTable = findLineTable(context, place, table);
    const kept = new Set(body.lines?.map(({ line }) => line));
    const old = (body.lines && lineTable && table.rows.get(toKey(set, values))?.lines) ?? [];
    const gone = old.map((row) => numberOf(lineTable ?? table, row)).filter((line) => !kept.has(line));
    const lines = [...gone.map((line) => ({ line, fields: null })), ...(body.lines ?? [])];
    return edit(context, place, table, values, body, lines);
  },
  patch(context: Context, place: Place & { id: string }, body: Edit): TrueRecord {
    const table = getEditable(context, place);
    const row = getRow(table, place.id);
    const values = { ...row.values, ...parseFields(context, table.set, body.fields ?? {}, 'fields') };
    if (toKey(table.set, values) !== row.key)
      throw invalid({ path: 'fields', message: 'can’t change the key' });
    return edit(context, place, table, values, body);
  },
  /** A new entity, generated or like another one, whose lines it has too. */
  create(
    context: Context,
    place: Place,
    { like, fields = {} }: { like?: string; fields?: Fields },
  ): TrueRecord {
    const table = getEditable(context, place);
    const { store } = context;
    const samples = createSamples(
      store,
      place.company ?? context.defaultCompany(),
      store.sequence(),
      context.at,
    );
    const sample = sampleNew(samples, table);
    const model = like === undefined ? undefined : getRow(table, like);
    const key = Object.fromEntries(table.set.keys.map((name) => [name, sample[name] ?? null]));
    const values = {
      ...sample,
      ...model?.values,
      ...key,
      ...parseFields(context, table.set, fields, 'fields'),
    };
    if (table.rows.has(toKey(table.set, values)))
      throw invalid({ path: 'fields', message: 'have a key that exists' });
    const lineTable = findLineTable(context, place, table);
    const own = [...(lineTable?.set.keys ?? []), ...Object.keys(lineTable?.set.header?.by ?? {})];
    const lines = (lineTable ? (model?.lines ?? []) : []).map((row) => ({
      line: numberOf(lineTable ?? table, row),
      fields: Object.fromEntries(Object.entries(row.values).filter(([name]) => !own.includes(name))),
    }));
    return edit(context, place, table, values, { lines });
  },
  /** With its lines. `isListed`: deltas have the deletion. */
  remove(context: Context, place: Place & { id: string }, isListed: boolean): void {
    const table = getEditable(context, place);
    const row = getRow(table, place.id);
    const lineTable = findLineTable(context, place, table);
    for (const line of lineTable ? row.lines : [])
      if (lineTable) context.store.remove(lineTable, line.key, isListed);
    context.store.remove(table, row.key, isListed);
  },
  generate(
    context: Context,
    place: Place,
    { count, seed = 1, lines = 3, from, stepSeconds = 0 }: Bulk,
  ): { count: number } {
    const table = getEditable(context, place);
    const company = place.company ?? context.defaultCompany();
    const start = from === undefined ? context.at : new Date(from);
    generate(context.store, company, table, findLineTable(context, place, table), {
      count,
      seed,
      lines,
      from: start,
      stepSeconds,
    });
    return { count: table.rows.size };
  },
  expireDeltas: ({ store }: Context): void => store.expireDeltas(),
};
type Name = keyof typeof COMMANDS;
type Rest<F> = F extends (context: Context, ...rest: infer R) => unknown ? R : never;
type Commands = { [N in Name]: (...args: Rest<(typeof COMMANDS)[N]>) => ReturnType<(typeof COMMANDS)[N]> };
/** They throw ControlError: 404 for what doesn't exist, 422 for values that don't fit. */
export type Records = Commands & {
  get(place: Place & { id: string }): TrueRecord;
  /** In the order of the server's keys. */
  list(
    place: Place,
    page: { after?: string | undefined; limit: number },
  ): { records: TrueRecord[]; next: string | null };
  hasJournal: boolean;
  /** The id of the first company; empty for services without companies. */
  defaultCompany(): string;
};

type Logged = { at: string; name: Name; args: unknown[] };

/** Cuts off a last line that the process didn't finish. */
function readJournal(file: string): Logged[] {
  const content = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);
  const whole = content.subarray(0, content.lastIndexOf('\n') + 1);
  if (whole.length < content.length) truncateSync(file, whole.length);
  const lines = whole.toString().split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line));
}

/** With `journal`, a file, records survive the process. */
export function createRecords(store: Store, clock: Clock, journal?: string): Records {
  const defaultCompany = (): string => {
    const set = store.profile.sets.find(({ name }) => name === store.profile.companies);
    return (set && store.table('', set).rows.keys().next().value) ?? '';
  };
  const run = (name: Name, at: Date, args: unknown[]): unknown =>
    (COMMANDS[name] as (context: Context, ...rest: unknown[]) => unknown)(
      { store, defaultCompany, at },
      ...args,
    );
  const logged = journal === undefined ? [] : readJournal(journal);
  for (const { name, at, args } of logged) run(name, new Date(at), args);
  const entries = (Object.keys(COMMANDS) as Name[]).map((name) => {
    const command = (...args: unknown[]): unknown => {
      const at = clock.now();
      const result = run(name, at, args);
      if (journal !== undefined) appendFileSync(journal, `${JSON.stringify({ at, name, args })}\n`);
      return result;
    };
    return [name, command] as const;
  });
  const context: Context = { store, defaultCompany, at: clock.now() };
  return {
    ...(Object.fromEntries(entries) as Commands),
    hasJournal: logged.length > 0,
    defaultCompany,
    get(place) {
      const table = getTable(context, place);
      return toTrueRecord(context, place, table, getRow(table, place.id));
    },
    list(place, { after, limit }) {
      const table = getTable(context, place);
      const order = table.set.keys.map((property) => ({ property, isDescending: false }));
      const { rows } = loadOrdered(store.profile, table, order);
      const start = after === undefined ? 0 : rows.indexOf(getRow(table, after)) + 1;
      const page = rows.slice(start, start + limit);
      const isMore = start + limit < rows.length;
      return {
        records: page.map((row) => toTrueRecord(context, place, table, row)),
        next: isMore ? (page.at(-1)?.key ?? null) : null,
      };
    },
  };
}
