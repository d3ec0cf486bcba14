// SQL of records with the related records that they embed. Each is found by its id, in the table that was
// active when the statement was written; the state of that table comes with the answer. Pure.
import { quoteIdentifier } from '../../../warehouse/table.ts';
import type { OutputField, ValueField } from '../../version/compile.ts';
import { type Expansion, type ReadExpansion, readExpansions } from '../plan/expand.ts';
import { columnReference, planConditions, whereSql } from './conditions.ts';
import { recordColumns } from './render-sql.ts';
import type { Bind, SqlPart } from './sql-part.ts';

/**
 * SQL of the id that a reference names, for comparison with ids of this type; null for a value that no record
 * has as its id. A `get` of that value finds the same: an id has one spelling.
 */
function idSql({ column }: ValueField, idType: 'integer' | 'text'): string {
  const value = columnReference(column);
  // To a client, 17 and 17.00 are one number.
  const text = column.type === 'number' ? `trim_scale(${value})::text` : `${value}::text`;
  if (idType === 'text') return `(${text} collate "C")`;
  // The CASEs keep other texts from being cast: PostgreSQL may evaluate the conditions of an AND in any
  // order. A regular expression instead would cost more than the look-up.
  return `case when pg_input_is_valid(${text}, 'bigint') then case when ${text}::bigint::text = ${text} then ${text}::bigint end end`;
}

const toAlias = (position: number): string => `e${position}`;

export type ExpandedSql = {
  /** Equal for equal texts. */
  readonly key: string;
  readonly values: readonly unknown[];
  /** Binds the values in order. Called once for each text. */
  text(bind: Bind): {
    /** Follows the table as `t`: its records as `o`. */
    readonly records: string;
    /**
     * A further column with the states of the related record types, in the order of `readExpansions`; empty
     * without any.
     */
    readonly states: string;
  };
};

type RelatedTables = { readonly schema: string; readonly related?: readonly string[] };

const toRelated = ({ schema, related }: RelatedTables, expansions: readonly Expansion[]): Related[] =>
  readExpansions(expansions).map((expansion, position) => ({
    ...expansion,
    table: related?.[position] ?? '',
    position,
    scope: planConditions({ endpoint: expansion.endpoint, conditions: expansion.endpoint.scope }, schema),
  }));

/** `relatedSql` writes the columns of a state. */
export function expandedSql(
  ref: RelatedTables,
  fields: readonly OutputField[],
  expansions: readonly Expansion[],
  stateSql: (recordType: string) => string,
): ExpandedSql {
  if (expansions.length === 0)
    return {
      key: '',
      values: [],
      text: () => ({ records: `cross join lateral (select ${recordColumns(fields)}) as o`, states: '' }),
    };
  const read = toRelated(ref, expansions);
  return {
    key:
      expansions.map(({ relation, endpoint }) => `${relation.name} ${endpoint?.key}`).join() +
      read.map(toKey).join(),
    values: read.flatMap(({ endpoint, scope }) => [
      ...scope.flatMap(({ values }) => values),
      endpoint.recordType,
    ]),
    text: (bind) => {
      const embedded = read.map((one) => ({
        ...one,
        record: relatedSql(ref.schema, one, bind),
        state: stateSql(bind(one.endpoint.recordType, 'text')),
      }));
      const columns = expansions.map(({ relation: { name } }) => {
        const found = embedded.find(({ relation }) => relation.name === name);
        return `${found === undefined ? 'null' : found.record} as ${quoteIdentifier(name)}`;
      });
      const keys = read.map(
        ({ relation, endpoint, position }) =>
          `${idSql(relation.field, endpoint.idType)} as ${toAlias(position)}`,
      );
      const references = keys.length === 0 ? '' : `cross join lateral (select ${keys.join(', ')}) as k `;
      return {
        records: `${references}cross join lateral (select ${[recordColumns(fields), ...columns].join(', ')}) as o`,
        states:
          embedded.length === 0
            ? ''
            : `, json_build_array(${embedded.map(({ state }) => state).join(', ')}) as related`,
      };
    },
  };
}

type Related = ReadExpansion & {
  readonly table: string;
  readonly position: number;
  readonly scope: readonly SqlPart[];
};
const toKey = ({ table, scope }: Related): string => ` ${table} ${scope.map(({ key }) => key).join()}`;

/** The related record as JSON, which hides the table of the base behind its own. */
function relatedSql(schema: string, { endpoint, table, position, scope }: Related, bind: Bind): string {
  const conditions = [`t.id = k.${toAlias(position)}`, ...scope.map((part) => part.text(bind))];
  return `(select row_to_json(o) from ${schema}.${quoteIdentifier(table)} as t cross join lateral (select ${recordColumns(endpoint.fields)}) as o${whereSql(conditions)})`;
}
