// Finds out which columns this role can read, with as few queries as possible: all columns at once, then without those that NetSuite names
// in its refusal, and by bisection where it names none.
import { ErpError } from '../connector.ts';
import { refusedColumn } from './errors.ts';

export type QueryRefusal = { readonly error: ErpError; readonly column: string | null };
type Named = { readonly name: string };
/** Queries exactly these columns; null on success. Rejects for an error that says nothing about columns, such as an outage. */
export type ProbeQuery<C extends Named> = (columns: readonly C[]) => Promise<QueryRefusal | null>;

/**
 * Interprets the error as a refusal of the query itself. NetSuite refuses some columns with a generic server error, which is distinguished
 * from an outage by repeating the query. Throws any other error again, such as an outage or a 403, which says nothing about columns.
 */
export function toQueryRefusal(error: unknown): QueryRefusal {
  const isRefusal =
    error instanceof ErpError && (error.kind === 'query' || error.code === 'RECORD_TYPE_HIDDEN' || error.code === 'UNEXPECTED_ERROR');
  if (!isRefusal) throw error;
  return { error, column: refusedColumn(error.message) };
}

/** Why each unreadable column can't be read, by name. Throws the ErpError when even the readable columns or no columns are refused. */
export async function probeColumns<C extends Named>(runProbe: ProbeQuery<C>, columns: readonly C[]): Promise<ReadonlyMap<string, string>> {
  const reasons = await findRefusedColumns(runProbe, columns);
  const rest = columns.filter(({ name }) => !reasons.has(name));
  if (reasons.size === 0 || rest.length === 0) return reasons;
  const last = await runProbe(rest);
  if (last !== null) throw last.error;
  return reasons;
}

async function findRefusedColumns<C extends Named>(runProbe: ProbeQuery<C>, columns: readonly C[]): Promise<ReadonlyMap<string, string>> {
  if (columns.length === 0) return new Map();
  const refusal = await runProbe(columns);
  if (refusal === null) return new Map();
  const named = columns.filter(({ name }) => name === refusal.column);
  if (named.length > 0) {
    const others = columns.filter((column) => !named.includes(column));
    return new Map([...reasonsFor(named, refusal), ...(await findRefusedColumns(runProbe, others))]);
  }
  if (columns.length === 1) return (await isRefusedAgain(runProbe, columns)) ? reasonsFor(columns, refusal) : new Map();
  const middle = Math.ceil(columns.length / 2);
  const left = await findRefusedColumns(runProbe, columns.slice(0, middle));
  return new Map([...left, ...(await findRefusedColumns(runProbe, columns.slice(middle)))]);
}

const reasonsFor = (columns: readonly Named[], { error }: QueryRefusal): Map<string, string> =>
  new Map(columns.map(({ name }) => [name, `NetSuite refuses it for this role: ${tail(error.message)}`]));

const tail = (message: string): string => message.replace(/^.*Search error occurred: /s, '').replace(/ Available identifiers are:.*$/s, '');

/** A transient failure must not cost a column: it must be refused twice, and the same query without it must succeed in between. */
async function isRefusedAgain<C extends Named>(runProbe: ProbeQuery<C>, columns: readonly C[]): Promise<boolean> {
  const without = await runProbe([]);
  if (without !== null) throw without.error;
  return (await runProbe(columns)) !== null;
}
