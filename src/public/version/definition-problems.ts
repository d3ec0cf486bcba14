// What the rules of a definition report.
import { createSuggestions } from '../../core/text/nearest-name.ts';

export type DefinitionProblem = {
  /** JSON path, such as `endpoints[0].fields[2].source`. */
  readonly path: string;
  readonly code: string;
  readonly message: string;
  readonly blocks: 'save' | 'publish';
};

/** What a name that doesn't exist may have been meant to be. */
export type Meant = { readonly wanted: string; readonly known: () => Iterable<string> };

/** Adds a problem. Its message ends with a suggestion if it is one of the first. */
export type Report = (
  blocks: DefinitionProblem['blocks'],
  path: string,
  code: string,
  message: string,
  meant?: Meant,
) => void;

/** Collects the first `max` problems, of those that block what `blocks` says. */
export function createReport(problems: DefinitionProblem[], { blocks: wanted, max }: ProblemLimits): Report {
  const suggest = createSuggestions();
  return (blocks, path, code, message, meant) => {
    if (problems.length >= max || (wanted !== undefined && blocks !== wanted)) return;
    const advice = meant === undefined ? '' : suggest(meant.wanted, meant.known);
    problems.push({ path, code, message: message + advice, blocks });
  };
}

export type ProblemLimits = { readonly blocks?: DefinitionProblem['blocks']; readonly max: number };

/** Names are compared without regard to case. `thing` is what they name. */
export function reportDuplicates(
  names: readonly string[],
  toPath: (index: number) => string,
  thing: string,
  report: Report,
): void {
  const seen = new Set<string>();
  for (const [index, name] of names.entries()) {
    const folded = name.toLowerCase();
    if (seen.has(folded))
      report(
        'save',
        toPath(index),
        'duplicate',
        `Duplicate ${thing} "${name}" (names are compared without regard to case)`,
      );
    seen.add(folded);
  }
}
