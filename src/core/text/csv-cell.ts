// Cells of CSV files (RFC 4180), and which texts a spreadsheet would run as a formula when it opens one.

/**
 * Matches such a text. Some spreadsheets strip invisible characters first, and some accept the full-width
 * forms of East Asian keyboards.
 */
export const formulaStart = /^(?:[\t\r\n]|[\s\p{Cc}\p{Cf}\p{Z}]*[=+\-@\uff1d\uff0b\uff0d\uff20])/u;

export type CsvOptions = {
  /** Prefixes texts that a spreadsheet would run as a formula with an apostrophe; others stay as they are. */
  readonly guardFormulas?: boolean;
};

/** At the start of a file, by which spreadsheets know that it is UTF-8. */
export const byteOrderMark = '\ufeff';

/** The texts as a line; null is an empty cell. */
export const csvLine = (texts: readonly (string | null)[], options?: CsvOptions): string =>
  `${texts.map((text) => (text === null ? '' : csvCell(text, options))).join()}${csvLineEnd}`;

export const csvLineEnd = '\r\n';

/** The text as a cell, in quotes when it needs them. */
function csvCell(text: string, { guardFormulas = false }: CsvOptions = {}): string {
  const guarded = guardFormulas && formulaStart.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded;
}
