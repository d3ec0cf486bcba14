// Replaces a function of a source file, for tests that load the service with something switched off. Only what
// the function is called is named here: its code, and that around it, may change.

export type Replacement = {
  /** From the root of the project. */
  readonly file: string;
  /** A function that the file declares at its top level or imports. */
  readonly replaces: string;
  /**
   * JavaScript of a function that gets the replaced one and returns what takes its place. It may use whatever
   * the file declares or imports.
   */
  readonly instead: string;
};

/**
 * The source with the replacement; a function that is imported is replaced in this file alone. Throws an Error
 * unless the file has exactly one such function.
 */
export function replaceFunction(source: string, { file, replaces, instead }: Replacement): string {
  const original = `${replaces}$original`;
  const imported = new RegExp(
    `(?<=^import \\{[^}]*?)(?<![\\w$]|type |as )${replaces}(?=\\s*[,}][^;]*? from )`,
    'gm',
  );
  const declared = new RegExp(`^(export )?((?:async )?function|const) ${replaces}\\b`, 'gm');
  const found = [...source.matchAll(imported), ...source.matchAll(declared)];
  if (found.length !== 1) throw new Error(`${file} has ${found.length} functions ${replaces} instead of one`);
  const renamed = source
    .replace(imported, `${replaces} as ${original}`)
    .replace(declared, (_all, _export, kind: string) => `${kind} ${original}`);
  const exported = found[0]?.[1] ?? '';
  return `${renamed}\n${exported}function ${replaces}(...given) { return (${instead})(${original})(...given); }\n`;
}
