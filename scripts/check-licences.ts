// npm run check:licences: compares the licence of each installed dependency with scripts/licences.json, by the software bill of materials that
// npm writes. Packages that only development needs may have those of `development` as well. Exits with 1 and names what isn't listed.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';

/** Whether an SPDX expression, such as `(MIT OR GPL-3.0) AND ISC`, can be met with the allowed licences alone. */
export function isAllowed(expression: string, allowed: readonly string[]): boolean {
  const text = expression.trim();
  const isPartAllowed = (part: string): boolean => isAllowed(part, allowed);
  const alternatives = splitOutside(text, ' OR ');
  if (alternatives.length > 1) return alternatives.some(isPartAllowed);
  const parts = splitOutside(text, ' AND ');
  if (parts.length > 1) return parts.every(isPartAllowed);
  return text.startsWith('(') && text.endsWith(')') ? isAllowed(text.slice(1, -1), allowed) : allowed.includes(text);
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

type Licence = { readonly expression?: string; readonly license?: { readonly id?: string; readonly name?: string } };
/** A CycloneDX document. */
type Bill = { readonly components: readonly { readonly name: string; readonly version: string; readonly licenses?: readonly Licence[] }[] };

/** `<name> <version>: <licence>` of each component of a CycloneDX document whose licence is missing or not allowed. */
export function findForbidden({ components }: Bill, allowed: readonly string[], own: readonly string[]): string[] {
  return components.flatMap(({ name, version, licenses = [] }) => {
    const stated = licenses.map(({ expression, license }) => expression ?? license?.id ?? license?.name ?? '');
    if (own.includes(name) || (stated.length > 0 && stated.every((one) => isAllowed(one, allowed)))) return [];
    return `${name} ${version}: ${stated.join(', ') || 'no licence'}`;
  });
}

function readBill(more: readonly string[]): Bill {
  const args = ['sbom', '--sbom-format=cyclonedx', ...more];
  return JSON.parse(execFileSync('npm', args, { encoding: 'utf8', maxBuffer: 64 << 20, stdio: ['ignore', 'pipe', 'inherit'] }));
}

if (import.meta.main) {
  const read = (name: string) => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
  const { production, development } = read('licences.json');
  // npm names a workspace by its folder.
  const own = read('../package.json').workspaces.map((folder: string) => folder.split('/').at(-1));
  const all = readBill([]);
  const forbidden = [
    ...findForbidden(readBill(['--omit=dev']), production, own),
    ...findForbidden(all, [...production, ...development], own),
  ];
  for (const one of new Set(forbidden)) console.error(`The licence is not on the list in scripts/licences.json: ${one}`);
  console.log(`${all.components.length} packages, ${new Set(forbidden).size} with a licence that is not on the list`);
  process.exitCode = forbidden.length === 0 ? 0 : 1;
}
