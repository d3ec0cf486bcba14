// A statement that a connection runs again and again. pg's own query has its result described at each run and sends
// four messages one by one; this one has it described once per connection, and sends everything in one write.
// test/db/driver/pg.test.ts fails when a new version of pg changes what it relies on.
import type { ClientBase, Connection, FieldDef, QueryResultRow, Submittable } from 'pg';
import { serialize } from 'pg-protocol';
import { isParsed } from './pg-client.ts';

type Column = { readonly name: string; readonly parse: (text: string) => unknown };
type Callback = (error: unknown, rows: QueryResultRow[]) => void;

/** A statement of one connection; `columns` are known once the server has described its result. */
export type Prepared = { readonly name: string; readonly text: string; columns?: readonly Column[] };

/** As PostgreSQL reads it. Throws for an object, whose text would depend on its type. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null;
  if (typeof value === 'object') throw new TypeError('A value of a prepared statement is an object');
  return String(value);
}
function toEntry(value: unknown): string {
  const text = toText(value);
  return text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, '\\$&')}"`;
}
const toParameter = (value: unknown): string | null =>
  Array.isArray(value) ? `{${value.map(toEntry).join()}}` : toText(value);

class PreparedQuery implements Submittable {
  /** By these pg knows what the server has parsed. */
  readonly name: string;
  readonly text: string;
  readonly #prepared: Prepared;
  readonly #values: unknown[];
  readonly #client: ClientBase;
  readonly #rows: QueryResultRow[] = [];
  #failure: unknown = null;
  /** pg replaces it by one that ends a time limit. */
  callback: Callback;

  constructor(prepared: Prepared, values: unknown[], client: ClientBase, callback: Callback) {
    this.name = prepared.name;
    this.text = prepared.text;
    this.#prepared = prepared;
    this.#values = values;
    this.#client = client;
    this.callback = callback;
  }

  /** Returns the error of a value that can't be sent, after which pg goes on with the next query. */
  submit(connection: Connection): unknown {
    const { name, text, columns } = this.#prepared;
    try {
      const messages = [
        serialize.bind({ statement: name, values: this.#values, valueMapper: toParameter }),
        ...(columns === undefined ? [serialize.describe({ type: 'P' })] : []),
        serialize.execute(),
        serialize.sync(),
      ];
      if (!isParsed(connection, name)) messages.unshift(serialize.parse({ name, text, types: [] }));
      connection.stream.write(Buffer.concat(messages));
      return undefined;
    } catch (error) {
      return error;
    }
  }

  /** An error thrown at the socket would end the process. */
  #attempt(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failure = error;
    }
  }

  handleRowDescription({ fields }: { readonly fields: readonly FieldDef[] }): void {
    this.#attempt(() => {
      this.#prepared.columns = fields.map(({ name, dataTypeID }) => ({
        name,
        parse: this.#client.getTypeParser(dataTypeID, 'text'),
      }));
    });
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    this.#attempt(() => {
      const row: QueryResultRow = {};
      this.#prepared.columns?.forEach(({ name, parse }, index) => {
        const value = fields[index] ?? null;
        row[name] = value === null ? null : parse(value);
      });
      this.#rows.push(row);
    });
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.callback(this.#failure, this.#rows);
  }

  handleError(error: unknown): void {
    this.callback(error, []);
  }
}

/** Rejects with PostgreSQL's error, and with that of a connection that breaks. */
export const runPrepared = <Row extends QueryResultRow>(
  client: ClientBase,
  prepared: Prepared,
  values: unknown[],
): Promise<Row[]> =>
  new Promise((resolve, reject) => {
    const callback: Callback = (error, rows) => (error === null ? resolve(rows as Row[]) : reject(error));
    client.query(new PreparedQuery(prepared, values, client, callback));
  });
