// SQL of reads that are too large for one text. Records are written one by one until the bound is reached,
// and come as bytes in pieces, each in a row of its own, so that no process handles more than a piece at a
// time. Pure.
/** More bytes of records than this don't leave PostgreSQL as one text. */
export const maxTextBytes = 512 * 1024;
/** Short enough that the garbage collector frees their texts while they are young. */
const pieceBytes = 32 * 1024;

/**
 * Number of rows with the text `column`. Fails with `isTooLarge` as soon as the texts have more than
 * `maxBytes` together, before further ones are written: no aggregate of PostgreSQL ends early, but a sum of
 * floats fails when it overflows.
 */
export const boundedCount = (column: string, maxBytes = maxTextBytes): string =>
  `case when sum(octet_length(${column}) * ${Number.MAX_VALUE / maxBytes}::float8) is null then 0 else count(*)::int end`;

/**
 * What a row of such a read has besides the state. `fitting`: how many of the `found` entries the bound
 * admits, at least one.
 */
export type PieceRow = {
  readonly found: number;
  readonly fitting: number;
  /** Number of the piece, in no particular order; null without records. */
  readonly at: number | null;
  readonly piece: Buffer | null;
};
export const pieceColumns = 'taken.found, taken.fitting, b.at, b.piece';

type Pieces = {
  /** The table as `t`, joined with its records as `o`. */
  readonly records: string;
  /**
   * One row with the arrays `ids`, and `heads` if there is a text before each record; the record of an absent
   * id is null.
   */
  readonly entries: string;
  /** A parameter. */
  readonly maxBytes: string;
  /** Returns the entries that fit; otherwise none unless all of them fit. */
  readonly mayEndEarly: boolean;
};

/** The expressions after `with recursive`; `from … cross join` continues with `piecesFrom`. */
export function pieceExpressions({ records, entries, maxBytes, mayEndEarly }: Pieces): string {
  const record = `(select row_to_json(o)::text from ${records} where t.id = entries.ids[w.n + 1])`;
  const item = mayEndEarly ? `entries.heads[w.n + 1] || coalesce(${record}, 'null') || '}'` : record;
  // OFFSET 0 keeps PostgreSQL from writing the record twice.
  return `entries as materialized (${entries}),
walk(n, bytes, item) as (
  select 0, -1::bigint, null::text
  union all
  select r.n, w.bytes + 1 + octet_length(r.item), r.item from walk as w cross join entries
    cross join lateral (select w.n + 1 as n, ${item} as item offset 0) as r
    where w.n < cardinality(entries.ids) and w.bytes <= ${maxBytes}
), taken as materialized (
  select cardinality(entries.ids) as found, (select count(*)::int from walk where n = 1 or (n > 1 and bytes <= ${maxBytes})) as fitting from entries
), body as materialized (
  select convert_to(string_agg(w.item, ','), 'UTF8') as bytes from walk as w
    where w.n between 1 and (select fitting from taken${mayEndEarly ? '' : ' where fitting = found'})
)`;
}

/** OFFSET 0 keeps PostgreSQL from storing the whole body with each piece. */
export const piecesFrom = `taken left join lateral (
  select i as at, substring(body.bytes from i * ${pieceBytes} + 1 for ${pieceBytes}) as piece
  from body cross join lateral generate_series(0, (length(body.bytes) - 1) / ${pieceBytes}) as i offset 0) as b on true`;
