// Copies the rows of a table between two servers by COPY streams, and compares the two copies.
import { pipeline } from 'node:stream/promises';
import { type ClientBase, escapeIdentifier } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { copyOut } from '../db/driver/copy-out.ts';

/** `schema` is safe to write into SQL. */
export type CopiedTable = {
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly string[];
};

/** The copy differs from its source. */
export class CopyDiffers extends Error {
  override readonly name = 'CopyDiffers';
}

const quoteTable = ({ schema, name }: CopiedTable): string => `${schema}.${escapeIdentifier(name)}`;
const buildColumnList = ({ columns }: CopiedTable): string =>
  columns.map((column) => escapeIdentifier(column)).join(', ');

/** Begins a transaction that waits for another server as long as a large table takes, without time limits. */
export async function beginCopy(client: ClientBase): Promise<void> {
  await client.query('begin');
  for (const limit of ['idle_in_transaction_session_timeout', 'transaction_timeout'])
    await client.query(`set local ${limit} = 0`);
}

/** The number of rows and two sums of hashes over all values, whatever the order of the rows. */
async function readChecksum(client: ClientBase, table: CopiedTable) {
  const { rows } = await client.query<{ rows: string; checksum: string }>(
    `select count(*) as rows, concat_ws(' ', coalesce(sum(hashtextextended(r.line, 0)::numeric), 0), coalesce(sum(hashtextextended(r.line, 1)::numeric), 0)) as checksum
     from (select row(${buildColumnList(table)})::text as line from ${quoteTable(table)}) as r`,
  );
  return { rows: Number(rows[0]?.rows), checksum: rows[0]?.checksum ?? '' };
}

/** Reads to the end even if the other server refuses the rows: until then the connection is in use. */
async function* readToEnd(pieces: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const next = async (): Promise<Buffer | undefined> => (await pieces.next()).value ?? undefined;
  try {
    for (let piece = await next(); piece !== undefined; piece = await next()) yield Buffer.from(piece);
  } finally {
    while ((await next()) !== undefined);
  }
}

/**
 * Copies all rows and returns their number. Both clients are in a transaction, and no one else writes the
 * table. Rejects with CopyDiffers when the copy isn't equal, and with the errors of both servers.
 */
export async function copyTable(source: ClientBase, target: ClientBase, table: CopiedTable): Promise<number> {
  const [name, columns] = [quoteTable(table), buildColumnList(table)];
  const { pieces } = copyOut(source, `copy (select ${columns} from ${name}) to stdout`);
  await pipeline(readToEnd(pieces), target.query(copyFrom(`copy ${name} (${columns}) from stdin`)));
  const [before, after] = [await readChecksum(source, table), await readChecksum(target, table)];
  if (before.rows !== after.rows || before.checksum !== after.checksum)
    throw new CopyDiffers(
      `${name} has ${before.rows} rows, its copy ${after.rows}, and their contents differ`,
    );
  return after.rows;
}
