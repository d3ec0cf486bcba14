// Converts values to the wire format: every value is a string, numbers have no trailing zeros, booleans are T
// and F, and dates and times are dates in the user's format, without their time. Null columns are left out of
// their row.

/** OIDs of the PostgreSQL types whose text needs converting. */
const BOOLEAN_TYPE = 16;
const NUMERIC_TYPE = 1700;
const DATE_TYPES: ReadonlySet<number> = new Set([1082, 1114, 1184]);

export type DateFormat = {
  name: string;
  order: 'MDY' | 'DMY';
  mask: string;
  write: (year: string, month: string, day: string) => string;
};

const unpadded = (digits: string): string => String(Number(digits));

const DATE_FORMATS: readonly DateFormat[] = [
  {
    name: 'M/D/YYYY',
    order: 'MDY',
    mask: 'FMMM/FMDD/YYYY',
    write: (y, m, d) => `${unpadded(m)}/${unpadded(d)}/${y}`,
  },
  {
    name: 'D/M/YYYY',
    order: 'DMY',
    mask: 'FMDD/FMMM/YYYY',
    write: (y, m, d) => `${unpadded(d)}/${unpadded(m)}/${y}`,
  },
  { name: 'MM/DD/YYYY', order: 'MDY', mask: 'MM/DD/YYYY', write: (y, m, d) => `${m}/${d}/${y}` },
  { name: 'DD/MM/YYYY', order: 'DMY', mask: 'DD/MM/YYYY', write: (y, m, d) => `${d}/${m}/${y}` },
  { name: 'DD.MM.YYYY', order: 'DMY', mask: 'DD.MM.YYYY', write: (y, m, d) => `${d}.${m}.${y}` },
  { name: 'YYYY-MM-DD', order: 'MDY', mask: 'YYYY-MM-DD', write: (y, m, d) => `${y}-${m}-${d}` },
];

/** Throws RangeError for an unknown date format. */
export function getDateFormat(name: string): DateFormat {
  const found = DATE_FORMATS.find((format) => format.name === name);
  if (!found)
    throw new RangeError(
      `Unknown date format ${name}. Use one of ${DATE_FORMATS.map((format) => format.name).join(', ')}.`,
    );
  return found;
}

export type ResultField = { name: string; dataTypeID: number };
export type WireRow = Record<string, string | []>;

/** Converts rows of PostgreSQL's text to wire rows. `links` comes first, then the columns sorted by name. */
export function renderRows(
  fields: readonly ResultField[],
  rows: readonly (readonly (string | null)[])[],
  format: DateFormat,
): WireRow[] {
  const columns = fields
    .map((field, index) => ({ name: field.name, index, write: createWriter(field.dataTypeID, format) }))
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

function createWriter(type: number, format: DateFormat): (value: string) => string {
  if (type === BOOLEAN_TYPE) return (value) => (value === 't' ? 'T' : 'F');
  if (type === NUMERIC_TYPE) return (value) => (value.includes('.') ? value.replace(/\.?0+$/, '') : value);
  // PostgreSQL's ISO text in the session's time zone: the first ten characters are the date.
  if (DATE_TYPES.has(type))
    return (value) => format.write(value.slice(0, 4), value.slice(5, 7), value.slice(8, 10));
  return (value) => value;
}
