// What the statements share that see the records of a type as they would be if the run were published now: the
// active table, plus what the run staged, minus what it found absent.
import type { Ctx } from '../core/ctx.ts';
import { inDataTransaction } from '../db/transaction.ts';
import type { RunState } from './run-state-row.ts';
import { quoteIdentifier, stagingTable } from './table.ts';

/** What a statement over local records needs to know of a run; a `RunReadContext` is one. */
export type LocalView = {
  readonly ctx: Pick<Ctx, 'db'>;
  readonly prepared: { readonly schema: string; readonly activeTable: string | null };
};

export const queryLocal = <T extends Record<string, unknown>>(
  { ctx }: Pick<LocalView, 'ctx'>,
  sql: string,
  values: readonly unknown[],
): Promise<T[]> =>
  inDataTransaction(ctx.db.data, async (client) => (await client.query<T>(sql, [...values])).rows);

/** The column `id` of the rows. */
export const queryIds = async (local: Pick<LocalView, 'ctx'>, sql: string, values: readonly unknown[]) =>
  (await queryLocal<{ id: string }>(local, sql, values)).map(({ id }) => id);

/** SQL that casts a text to the id type; null for a text that is not an id of that type. */
export const asId = (expression: string, state: RunState): string =>
  state.plan.idType === 'integer'
    ? `(case when ${expression} ~ '^-?[0-9]{1,18}$' then ${expression}::bigint end)`
    : expression;

export const tableNames = ({ prepared: { schema, activeTable } }: LocalView, state: RunState) => ({
  table: `${schema}.${quoteIdentifier(activeTable ?? '')}`,
  staging: `${schema}.${quoteIdentifier(stagingTable(state.recordType))}`,
  target: `${schema}.${quoteIdentifier(state.targetTable)}`,
});
