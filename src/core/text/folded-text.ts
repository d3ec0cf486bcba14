// Text in which case and composition make no difference: letters are composed (NFC), then mapped one by one
// to upper case and to lower case. So a final sigma equals a sigma, and a composed letter its letter with a
// mark. Small and full letters that differ in length, such as `ß` and `SS`, stay different. PostgreSQL and
// JavaScript have the same tables, of one Unicode version or another.

/**
 * SQL. An index on exactly this expression serves comparisons. The collation has the same tables on every
 * server, whatever its locale.
 */
export const foldedSql = (text: string): string => `lower(upper(${composedSql(text)} collate "pg_c_utf8"))`;

/** ASCII, which most texts are, needs no composition. */
const composedSql = (text: string): string =>
  `case when octet_length(${text}) = length(${text}) then ${text} else normalize(${text}, nfc) end`;

/** A condition with one parameter, which is true when one of the expressions contains it. */
export const containsSql = (...expressions: readonly string[]): string => {
  const tests = expressions.map((text) => `strpos(${foldedSql(text)}, ${foldedSql('asked.q')}) > 0`);
  return `exists (select from (values (?::text)) as asked(q) where ${tests.join(' or ')})`;
};

/** A letter without a counterpart of the same length keeps its case, as in PostgreSQL. */
const mapped = (letter: string, map: (text: string) => string): string => {
  const other = map(letter);
  return [...other].length === 1 ? other : letter;
};

export const foldText = (text: string): string =>
  Array.from(text.normalize('NFC'), (letter) =>
    mapped(
      mapped(letter, (each) => each.toUpperCase()),
      (each) => each.toLowerCase(),
    ),
  ).join('');
