// Every exported function that throws says so: its docstring names what is thrown, and when.
import { globSync, readFileSync } from 'node:fs';
import { type Comment, parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';

type Node = { readonly type: string; readonly start: number; readonly end: number };
const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
const listChildren = (node: Node): Node[] =>
  Object.values(node as unknown as Record<string, unknown>)
    .flat()
    .filter(isNode);

/**
 * Closures included: what they throw reaches whoever calls them, and only the function's docstring can say
 * so.
 */
const throws = (node: Node): boolean => node.type === 'ThrowStatement' || listChildren(node).some(throws);

type Exported = { readonly name: string; readonly node: Node; readonly documented: string };

function exportedFunctions(file: string, text: string): Exported[] {
  const { program, comments, errors } = parseSync(file, text);
  expect(errors, file).toEqual([]);
  const findDocstring = ({ start }: Node): string => {
    const before = comments.filter((comment: Comment) => comment.end <= start).at(-1);
    return before !== undefined && text.slice(before.end, start).trim() === '' ? before.value : '';
  };
  return program.body.flatMap((statement): Exported[] => {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) return [];
    const { declaration } = statement;
    if (declaration.type === 'FunctionDeclaration')
      return [{ name: declaration.id?.name ?? '', node: declaration, documented: findDocstring(statement) }];
    if (declaration.type !== 'VariableDeclaration') return [];
    return declaration.declarations
      .filter(({ init }) => init?.type === 'ArrowFunctionExpression' || init?.type === 'FunctionExpression')
      .map((each) => ({
        name: text.slice(each.id.start, each.id.end),
        node: each,
        documented: findDocstring(statement),
      }));
  });
}

const undocumented = (file: string, text: string): string[] =>
  exportedFunctions(file, text)
    .filter(({ node, documented }) => throws(node) && !/\b(throws?|rejects?)\b/i.test(documented))
    .map(({ name }) => `${file} ${name}`);

describe('exported functions that throw', () => {
  it('say what and when in their docstring', () => {
    const files = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts', 'demo/**/*.ts'], {
      exclude: (name) => name === 'node_modules',
    });
    const throwing = files
      .flatMap((file) => exportedFunctions(file, readFileSync(file, 'utf8')))
      .filter(({ node }) => throws(node));
    expect(throwing.length).toBeGreaterThan(100);
    expect(files.flatMap((file) => undocumented(file, readFileSync(file, 'utf8')))).toEqual([]);
  });

  it('are found whether they are declared or assigned, throw at once or in a closure', () => {
    const text = `
      export function declared() { throw new Error(); }
      export const assigned = () => { throw new Error(); };
      /** Does something. */
      export const inClosure = () => () => { throw new Error(); };
      /** Throws an Error. */
      export function documented() { throw new Error(); }
      /** Throws an Error. */

      const between = 1;
      export function apart() { throw new Error(between); }
      export function harmless() {}
      function own() { throw new Error(); }
    `;
    expect(undocumented('x.ts', text)).toEqual([
      'x.ts declared',
      'x.ts assigned',
      'x.ts inClosure',
      'x.ts apart',
    ]);
  });
});
