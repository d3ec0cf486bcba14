// Rows for people to read on a terminal: columns as wide as what stands in them, names on top, numbers to the right.

export type Cell = string | number | null;

export function textTable(rows: readonly Readonly<Record<string, Cell>>[]): string {
  const [first] = rows;
  if (first === undefined) return '';
  const names = Object.keys(first);
  const textOf = (cell: Cell | undefined): string => (cell === null || cell === undefined ? '-' : String(cell));
  const columns = names.map((name) => ({
    name,
    right: rows.every((row) => typeof row[name] === 'number'),
    width: Math.max(name.length, ...rows.map((row) => textOf(row[name]).length)),
  }));
  const line = (cells: readonly string[]): string =>
    columns
      .map(({ right, width }, index) => (right ? (cells[index] ?? '').padStart(width) : (cells[index] ?? '').padEnd(width)))
      .join('  ')
      .trimEnd();
  return [line(names), ...rows.map((row) => line(names.map((name) => textOf(row[name]))))].join('\n');
}
