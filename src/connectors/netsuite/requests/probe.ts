// Finds out which columns this role can read, with as few queries as possible: all columns at once, then
// without those that NetSuite names in its refusal, and by bisection where it names none.
import { ErpError } from '../../connector.ts';
import { refusedColumn } from './errors.ts';

export type QueryRefusal = { readonly error: ErpError; readonly column: string | null };
type Named = { readonly name: string };
type Typed = Named & { readonly type: string };
/** Queries exactly these columns; null on success. Rejects for an error that isn't about columns. */
export type ProbeQuery<C extends Named> = (columns: readonly C[]) => Promise<QueryRefusal | null>;

/**
 * Interprets the error as a refusal of the query itself. NetSuite refuses some columns with a generic server
 * error, which is distinguished from an outage by repeating the query. Throws any other error again, such as
 * an outage or a 403, which says nothing about columns.
 */
export function toQueryRefusal(error: unknown): QueryRefusal {
  const isRefusal =
    error instanceof ErpError &&
    (error.kind === 'query' || error.code === 'RECORD_TYPE_HIDDEN' || error.code === 'UNEXPECTED_ERROR');
  if (!isRefusal) throw error;
  return { error, column: refusedColumn(error.message) };
}

/**
 * Why each unreadable column can't be read, by name. `seen`: columns that are readable in all likelihood,
 * which saves queries. Throws the ErpError when even the readable columns or no columns are refused, and at
 * once for a table that this role can't see.
 */
export async function probeColumns<C extends Named>(
  runProbe: ProbeQuery<C>,
  columns: readonly C[],
  seen: ReadonlySet<string> = new Set(),
): Promise<ReadonlyMap<string, string>> {
  let accepted: readonly C[] = [];
  const runRemembered: ProbeQuery<C> = async (some) => {
    const refusal = await runProbe(some);
    if (refusal === null) accepted = some;
    return refusal;
  };
  const reasons = await findRefusedColumns(runRemembered, columns, seen);
  const rest = columns.filter(({ name }) => !reasons.has(name));
  if (rest.length === accepted.length) return reasons;
  const last = await runProbe(rest);
  if (last !== null) throw last.error;
  return reasons;
}

/** `known`: the refusal of a query with these columns, where it is known that there is one among them. */
async function findRefusedColumns<C extends Named>(
  runProbe: ProbeQuery<C>,
  columns: readonly C[],
  seen: ReadonlySet<string>,
  known: QueryRefusal | null = null,
): Promise<ReadonlyMap<string, string>> {
  if (columns.length === 0) return new Map();
  const refusal = known ?? (await runProbe(columns));
  if (refusal === null) return new Map();
  const named = columns.filter(({ name }) => name === refusal.column);
  if (named.length > 0) {
    const others = columns.filter((column) => !named.includes(column));
    return new Map([...reasonsFor(named, refusal), ...(await findRefusedColumns(runProbe, others, seen))]);
  }
  if (refusal.error.code === 'RECORD_TYPE_HIDDEN') throw refusal.error;
  if (columns.length === 1)
    return (await isRefusedAgain(runProbe, columns)) ? reasonsFor(columns, refusal) : new Map();
  const [one, other] = split(columns, seen);
  const reasons = await findRefusedColumns(runProbe, one, seen);
  return new Map([
    ...reasons,
    ...(await findRefusedColumns(runProbe, other, seen, reasons.size === 0 ? refusal : null)),
  ]);
}

/** Columns that were seen apart from the others, or halves. */
function split<C extends Named>(
  columns: readonly C[],
  seen: ReadonlySet<string>,
): readonly [readonly C[], readonly C[]] {
  const likely = columns.filter(({ name }) => seen.has(name));
  if (likely.length > 0 && likely.length < columns.length)
    return [likely, columns.filter(({ name }) => !seen.has(name))];
  const middle = Math.ceil(columns.length / 2);
  return [columns.slice(0, middle), columns.slice(middle)];
}

const reasonsFor = (columns: readonly Named[], { error }: QueryRefusal): Map<string, string> =>
  new Map(columns.map(({ name }) => [name, `NetSuite refuses it for this role: ${shorten(error.message)}`]));

/** What NetSuite's message about a refused query says of this query. */
export const shorten = (message: string): string =>
  message
    .replace(/^.*(?:Search error occurred:|Detailed unprocessed description follows\.) /s, '')
    .replace(/ Available identifiers are:.*$/s, '');

/**
 * A transient failure must not cost a column: it must be refused twice, and the same query without it must
 * succeed in between.
 */
async function isRefusedAgain<C extends Named>(runProbe: ProbeQuery<C>, columns: readonly C[]) {
  const without = await runProbe([]);
  if (without !== null) throw without.error;
  return (await runProbe(columns)) !== null;
}

/**
 * Remembers per table what was accepted and refused, so that record types of one table probe each column
 * once. `probe` is `probeColumns` for the columns that weren't probed yet, and rejects as it does.
 */
export type Probes = {
  probe<C extends Typed>(
    table: string,
    runProbe: ProbeQuery<C>,
    columns: readonly C[],
    seen?: ReadonlySet<string>,
  ): Promise<ReadonlyMap<string, string>>;
};

/** Columns of a feature: where one table lacks them, so do the others, unless a row of theirs has a value. */
const featureColumns: ReadonlySet<string> = new Set(['subsidiary']);

export function createProbes(): Probes {
  const absent = new Map<string, string>();
  const tables = new Map<string, { readonly reasons: Map<string, string | null>; last: Promise<unknown> }>();
  return {
    async probe(table, runProbe, columns, seen) {
      const known = tables.get(table) ?? { reasons: new Map(), last: Promise.resolve() };
      tables.set(table, known);
      const probeNew = async (): Promise<void> => {
        for (const [name, reason] of absent) if (seen?.has(name) === false) known.reasons.set(name, reason);
        const isNew = columns.filter((column) => findReason(known.reasons, column) === undefined);
        const refused =
          isNew.length === 0 ? new Map<string, string>() : await probeColumns(runProbe, isNew, seen);
        for (const column of isNew) remember(known.reasons, column, refused.get(column.name) ?? null);
        for (const [name, reason] of refused)
          if (featureColumns.has(name) && isUnknown(reason)) absent.set(name, reason);
      };
      const probing = known.last.then(probeNew);
      known.last = probing.catch(() => undefined);
      await probing;
      return new Map(
        columns.flatMap((column) => {
          const reason = findReason(known.reasons, column);
          return typeof reason === 'string' ? [[column.name, reason] as const] : [];
        }),
      );
    },
  };
}

/** Whether NetSuite doesn't know the column at all, whatever it is read as. */
export const isUnknown = (reason: string | null | undefined) => /Unknown identifier/i.test(reason ?? '');

const findReason = (reasons: ReadonlyMap<string, string | null>, { name, type }: Typed) =>
  reasons.get(name) ?? reasons.get(`${name}:${type}`);

const remember = (
  reasons: Map<string, string | null>,
  { name, type }: Typed,
  reason: string | null,
): unknown => reasons.set(isUnknown(reason) ? name : `${name}:${type}`, reason);
