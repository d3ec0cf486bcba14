// Rows as a text table for a terminal: a header, columns fitted to the content, numbers to the right.

export type Cell = string | number | null;

/** Null is shown as `-`. Returns an empty text for no rows. */
export function textTable(rows: readonly Readonly<Record<string, Cell>>[]): string {
  const [first] = rows;
  if (first === undefined) return '';
  const names = Object.keys(first);
  const formatCell = (cell: Cell | undefined) => (cell === null || cell === undefined ? '-' : String(cell));
  const columns = names.map((name) => ({
    name,
    right: rows.every((row) => typeof row[name] === 'number'),
    width: Math.max(name.length, ...rows.map((row) => formatCell(row[name]).length)),
  }));
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ right, width }, index) =>
        right ? (cells[index] ?? '').padStart(width) : (cells[index] ?? '').padEnd(width),
      )
      .join('  ')
      .trimEnd();
  return [line(names), ...rows.map((row) => line(names.map((name) => formatCell(row[name]))))].join('\n');
}

/** A size on disk, in kB below 10 MB. */
export const formatBytes = (bytes: number): string =>
  bytes < 10_485_760 ? `${Math.ceil(bytes / 1024)} kB` : `${Math.round(bytes / 1_048_576)} MB`;
