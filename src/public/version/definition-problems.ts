// What the rules of a definition report.

export type DefinitionProblem = {
  /** JSON path, such as `endpoints[0].fields[2].source`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly blocks: 'save' | 'publish';
};

export type Report = (blocks: DefinitionProblem['blocks'], path: string, code: string, message: string) => void;

/** Names are compared without regard to case. `thing` is what they name. */
export function reportDuplicates(names: readonly string[], pathOf: (index: number) => string, thing: string, report: Report): void {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    const folded = name.toLowerCase();
    if (seen.has(folded))
      report('save', pathOf(index), 'duplicate', `Duplicate ${thing} "${name}" (names are compared without regard to case)`);
    seen.add(folded);
  }
}
