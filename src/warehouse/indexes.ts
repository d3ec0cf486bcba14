// The indexes that published versions need: remembered per record type, built without blocking anyone, and made again on every
// table that goes live. An interrupted concurrent build leaves an invalid index: it is dropped and built anew.
import { createHash } from 'node:crypto';
import type { Knex } from 'knex';
import { quoted } from './table.ts';

/** `expression` is what stands between the parentheses: physical column names of ours and nothing a caller wrote. */
export type IndexSpec = { readonly method: 'btree' | 'gin'; readonly expression: string };

const indexName = (table: string, { method, expression }: IndexSpec): string =>
  `${table.slice(0, 40)}_${createHash('sha256').update(`${method} ${expression}`).digest('hex').slice(0, 12)}`;

export async function rememberIndexes(control: Knex, schema: string, recordType: string, specs: readonly IndexSpec[]): Promise<void> {
  for (const { method, expression } of specs) {
    await control.raw(`insert into ${schema}.record_indexes (record_type, method, expression) values (?, ?, ?) on conflict do nothing`, [
      recordType,
      method,
      expression,
    ]);
  }
}

export async function wantedIndexes(control: Knex, schema: string, recordType: string): Promise<IndexSpec[]> {
  const { rows } = await control.raw<{ rows: IndexSpec[] }>(
    `select method, expression from ${schema}.record_indexes where record_type = ? order by 1, 2`,
    [recordType],
  );
  return rows;
}

/** Which of the wanted indexes the table lacks or holds half built. */
export async function missingIndexes(control: Knex, schema: string, table: string, wanted: readonly IndexSpec[]): Promise<IndexSpec[]> {
  const { rows } = await control.raw<{ rows: { name: string }[] }>(
    `select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
     join pg_namespace n on n.oid = t.relnamespace where n.nspname = ? and t.relname = ? and i.indisvalid`,
    [schema, table],
  );
  const held = new Set(rows.map(({ name }) => name));
  return wanted.filter((spec) => !held.has(indexName(table, spec)));
}

/** Builds what is missing, one at a time; `concurrently` for tables that readers use. */
export async function buildIndexes(
  control: Knex,
  schema: string,
  table: string,
  wanted: readonly IndexSpec[],
  concurrently: boolean,
  onBuilt: (done: number, of: number) => Promise<void> | void = () => undefined,
): Promise<void> {
  const missing = await missingIndexes(control, schema, table, wanted);
  for (const [index, spec] of missing.entries()) {
    const name = quoted(indexName(table, spec));
    await control.raw(`drop index if exists ${schema}.${name}`);
    await control.raw(
      `create index ${concurrently ? 'concurrently ' : ''}${name} on ${schema}.${quoted(table)} using ${spec.method} (${spec.expression})`,
    );
    await onBuilt(index + 1, missing.length);
  }
}
