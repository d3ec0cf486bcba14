// Finds out which columns an account lets us read, with as few questions as possible: all at once, then without those that
// NetSuite names in its refusal, and by halves where it names none.
import { ErpError } from '../connector.ts';
import { refusedColumn } from './errors.ts';

export type Refusal = { readonly error: ErpError; readonly column: string | null };
type Named = { readonly name: string };
/** Asks with exactly these columns; null when NetSuite answers. Rejects for what says nothing about columns, such as an outage. */
export type Ask<C extends Named> = (columns: readonly C[]) => Promise<Refusal | null>;

/**
 * A refusal of the question itself. NetSuite answers some bad columns with a plain server error, which is told apart from
 * an outage by asking again; a role without any access (403) says nothing about columns.
 */
export function asRefusal(error: unknown): Refusal {
  const isRefusal =
    error instanceof ErpError && (error.kind === 'query' || error.code === 'RECORD_TYPE_HIDDEN' || error.code === 'UNEXPECTED_ERROR');
  if (!isRefusal) throw error;
  return { error, column: refusedColumn(error.message) };
}

/** Why each unreadable column can't be read, by name. */
export async function probeColumns<C extends Named>(ask: Ask<C>, columns: readonly C[]): Promise<ReadonlyMap<string, string>> {
  const reasons = await refusedOf(ask, columns);
  const rest = columns.filter(({ name }) => !reasons.has(name));
  if (reasons.size === 0 || rest.length === 0) return reasons;
  const last = await ask(rest);
  if (last !== null) throw last.error;
  return reasons;
}

async function refusedOf<C extends Named>(ask: Ask<C>, columns: readonly C[]): Promise<ReadonlyMap<string, string>> {
  if (columns.length === 0) return new Map();
  const refusal = await ask(columns);
  if (refusal === null) return new Map();
  const named = columns.filter(({ name }) => name === refusal.column);
  if (named.length > 0) {
    const others = columns.filter((column) => !named.includes(column));
    return new Map([...reasonsFor(named, refusal), ...(await refusedOf(ask, others))]);
  }
  if (columns.length === 1) return (await isLasting(ask, columns)) ? reasonsFor(columns, refusal) : new Map();
  const middle = Math.ceil(columns.length / 2);
  const left = await refusedOf(ask, columns.slice(0, middle));
  return new Map([...left, ...(await refusedOf(ask, columns.slice(middle)))]);
}

const reasonsFor = (columns: readonly Named[], { error }: Refusal): Map<string, string> =>
  new Map(columns.map(({ name }) => [name, `NetSuite refuses it for this role: ${tail(error.message)}`]));

const tail = (message: string): string => message.replace(/^.*Search error occurred: /s, '').replace(/ Available identifiers are:.*$/s, '');

/** A passing failure must not cost a column: it is refused twice, and the same question without it is answered in between. */
async function isLasting<C extends Named>(ask: Ask<C>, columns: readonly C[]): Promise<boolean> {
  const without = await ask([]);
  if (without !== null) throw without.error;
  return (await ask(columns)) !== null;
}
