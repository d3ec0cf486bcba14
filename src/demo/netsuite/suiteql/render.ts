// How values look on the wire: every one a string, numbers without idle zeros, booleans T and F, and a bare date or time as a date in
// the user's preference, its time dropped. Null columns are left out of their row.

/** PostgreSQL's type numbers of the values that need more than their text. */
const BOOLEAN = 16;
const NUMERIC = 1700;
const MOMENTS: ReadonlySet<number> = new Set([1082, 1114, 1184]);

export type DateFormat = { name: string; order: 'MDY' | 'DMY'; mask: string; write: (year: string, month: string, day: string) => string };

const unpadded = (digits: string): string => String(Number(digits));

const DATE_FORMATS: readonly DateFormat[] = [
  { name: 'M/D/YYYY', order: 'MDY', mask: 'FMMM/FMDD/YYYY', write: (y, m, d) => `${unpadded(m)}/${unpadded(d)}/${y}` },
  { name: 'D/M/YYYY', order: 'DMY', mask: 'FMDD/FMMM/YYYY', write: (y, m, d) => `${unpadded(d)}/${unpadded(m)}/${y}` },
  { name: 'MM/DD/YYYY', order: 'MDY', mask: 'MM/DD/YYYY', write: (y, m, d) => `${m}/${d}/${y}` },
  { name: 'DD/MM/YYYY', order: 'DMY', mask: 'DD/MM/YYYY', write: (y, m, d) => `${d}/${m}/${y}` },
  { name: 'DD.MM.YYYY', order: 'DMY', mask: 'DD.MM.YYYY', write: (y, m, d) => `${d}.${m}.${y}` },
  { name: 'YYYY-MM-DD', order: 'MDY', mask: 'YYYY-MM-DD', write: (y, m, d) => `${y}-${m}-${d}` },
];

export function dateFormat(name: string): DateFormat {
  const found = DATE_FORMATS.find((format) => format.name === name);
  if (!found)
    throw new RangeError(`The account knows the date formats ${DATE_FORMATS.map((format) => format.name).join(', ')}; not ${name}.`);
  return found;
}

export type Field = { name: string; dataTypeID: number };
export type WireRow = Record<string, string | []>;

/** Makes wire rows of rows as arrays of PostgreSQL's text. `links` comes first, then the columns by name. */
export function renderRows(fields: readonly Field[], rows: readonly (readonly (string | null)[])[], format: DateFormat): WireRow[] {
  const columns = fields
    .map((field, index) => ({ name: field.name, index, write: writerOf(field.dataTypeID, format) }))
    .sort((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
  return rows.map((values) => {
    const row: WireRow = { links: [] };
    for (const { name, index, write } of columns) {
      const value = values[index];
      if (value !== null && value !== undefined && value !== '') row[name] = write(value);
    }
    return row;
  });
}

function writerOf(type: number, format: DateFormat): (value: string) => string {
  if (type === BOOLEAN) return (value) => (value === 't' ? 'T' : 'F');
  if (type === NUMERIC) return (value) => (value.includes('.') ? value.replace(/\.?0+$/, '') : value);
  // ISO text of PostgreSQL in the session's time zone: the first ten letters are the date.
  if (MOMENTS.has(type)) return (value) => format.write(value.slice(0, 4), value.slice(5, 7), value.slice(8, 10));
  return (value) => value;
}
