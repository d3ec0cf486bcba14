// Compares the licence of each installed dependency with scripts/licences.json, by
// the software bill of materials. Packages that only development needs may have those of `development` as
// well. Exits with 1 and names what isn't listed.
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { type Bill, productionNames, readBill, toComponent } from './bill-of-materials.ts';

/**
 * Whether an SPDX expression, such as `(MIT OR GPL-3.0) AND ISC`, can be met with the allowed licences alone.
 */
export function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const text = expression.trim();
  const isPartAllowed = (part: string): boolean => isAllowed(part, allowed);
  const alternatives = splitOutside(text, ' OR ');
  if (alternatives.length > 1) return alternatives.some(isPartAllowed);
  const parts = splitOutside(text, ' AND ');
  if (parts.length > 1) return parts.every(isPartAllowed);
  return text.startsWith('(') && text.endsWith(')')
    ? isAllowed(text.slice(1, -1), allowed)
    : allowed.includes(text);
}

/** Splits at an operator that is not in parentheses. */
function splitOutside(text: string, operator: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index += 1) {
    if (text[index] === '(') depth += 1;
    if (text[index] === ')') depth -= 1;
    if (depth > 0 || !text.startsWith(operator, index)) continue;
    parts.push(text.slice(start, index));
    start = index + operator.length;
  }
  return [...parts, text.slice(start)];
}

/**
 * `<name> <version>: <licence>` of each component of a CycloneDX document whose licence is missing or not
 * allowed. `own` are this repository's packages, as `<name>@<version>`.
 */
export function findForbidden(
  { components }: Pick<Bill, 'components'>,
  allowed: readonly string[],
  own: readonly string[],
): string[] {
  return components.flatMap(({ name, version, licenses = [], 'bom-ref': ref }) => {
    const stated = licenses.map(
      ({ expression, license }) => expression ?? license?.id ?? license?.name ?? '',
    );
    if (own.includes(ref) || (stated.length > 0 && stated.every((one) => isAllowed(one, allowed)))) return [];
    return `${name} ${version}: ${stated.join(', ') || 'no licence'}`;
  });
}

if (import.meta.main) {
  const read = (name: string) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
  const { production, development, onlyInFile } = read('licences.json');
  const own = read('../package.json').workspaces.map((folder: string) => {
    const { name, version } = read(`../${folder}/package.json`);
    return `${name}@${version}`;
  });
  // Packages that name their licence in a file alone, as it was read.
  for (const [ref, licence] of Object.entries<string>(onlyInFile))
    if (isAllowed(licence, production)) own.push(ref);
  const all = readBill();
  const forbidden = [
    ...findForbidden(toComponent(all, productionNames()), production, own),
    ...findForbidden(all, [...production, ...development], own),
  ];
  for (const one of new Set(forbidden))
    console.error(`The licence is not on the list in scripts/licences.json: ${one}`);
  console.log(
    `${all.components.length} packages, ${new Set(forbidden).size} with a licence that is not on the list`,
  );
  process.exitCode = forbidden.length === 0 ? 0 : 1;
}
