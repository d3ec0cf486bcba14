// Statements that have their values where these are used: sql`… where id = ${id}`. Each value becomes a
// parameter, $1 being the first one, and is never part of the text: a statement has one text for all values,
// by which PostgreSQL and connection poolers know it.
import { quoteIdentifier } from './table.ts';

/** A value that one statement uses more than once, as a single parameter. */
export class Parameter {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** A statement, as `query` of pg takes it, or a part of one. */
class Sql {
  readonly parts: readonly (string | Parameter)[];
  readonly text: string;
  readonly values: unknown[];

  constructor(parts: readonly (string | Parameter)[]) {
    const parameters = [...new Set(parts.filter((part) => part instanceof Parameter))];
    this.parts = parts;
    this.text = parts
      .map((part) => (typeof part === 'string' ? part : `$${parameters.indexOf(part) + 1}`))
      .join('');
    this.values = parameters.map(({ value }) => value);
  }
}

const toParts = (item: unknown): readonly (string | Parameter)[] => {
  if (item instanceof Sql) return item.parts;
  return [item instanceof Parameter ? item : new Parameter(item)];
};

/** Each interpolation is a value, a `Parameter`, or another part of the statement. */
export const sql = (texts: TemplateStringsArray, ...items: readonly unknown[]): Sql =>
  new Sql(texts.flatMap((text, at) => (at < items.length ? [text, ...toParts(items[at])] : [text])));

/** A table of the schema of an organization. */
export const tableOf = (schema: string, table: string): Sql =>
  new Sql([`${quoteIdentifier(schema)}.${quoteIdentifier(table)}`]);

/** Text that is SQL already, and has no parameters. */
export const sqlText = (text: string): Sql => new Sql([text]);
