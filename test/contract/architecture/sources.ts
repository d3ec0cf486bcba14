// The source files as the architecture tests see them. `program`, the syntax tree, is expensive: it is read
// for listFunctions only.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { type Node, parseSync } from 'oxc-parser';

/**
 * A file of this repository that another one imports. `isType`: only types of it; `isLazy`: by `import()`,
 * when it is needed.
 */
export type Import = { readonly target: string; readonly isType: boolean; readonly isLazy: boolean };

export type Source = {
  readonly file: string;
  readonly text: string;
  /** The text without comments, which the rules don't apply to. */
  readonly code: string;
  /** Packages by name; files by their path from the root of the repository. */
  readonly imports: readonly Import[];
};

type ParsedModule = ReturnType<typeof parseSync>['module'];

function listImports(
  file: string,
  text: string,
  { staticImports, staticExports, dynamicImports }: ParsedModule,
): Import[] {
  const resolve = (target: string): string =>
    target.startsWith('.') ? path.posix.normalize(path.posix.join(path.posix.dirname(file), target)) : target;
  return [
    ...staticImports.map(({ moduleRequest, entries }) => ({
      target: resolve(moduleRequest.value),
      isType: entries.length > 0 && entries.every(({ isType }) => isType),
      isLazy: false,
    })),
    ...staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest, isType }) =>
        moduleRequest === null ? [] : [{ target: resolve(moduleRequest.value), isType, isLazy: false }],
      ),
    ),
    ...dynamicImports.flatMap(({ moduleRequest }) => {
      const literal = /^'([^']+)'$/.exec(text.slice(moduleRequest.start, moduleRequest.end))?.[1];
      return literal === undefined ? [] : [{ target: resolve(literal), isType: false, isLazy: true }];
    }),
  ];
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value;

/**
 * With the functions inside other functions, whose lines and characters count in both. A function is named
 * by what it is assigned to.
 */
export function listFunctions({ file, text }: Source) {
  const found: { name: string; lines: number; characters: number }[] = [];
  const visit = (node: Node, name: string): void => {
    if (
      node.type === 'FunctionDeclaration' ||
      node.type === 'FunctionExpression' ||
      node.type === 'ArrowFunctionExpression'
    ) {
      const own = node.type === 'ArrowFunctionExpression' ? name : (node.id?.name ?? name);
      const body = text.slice(node.start, node.end);
      found.push({ name: own, lines: body.split('\n').length, characters: body.length });
    }
    const assigned =
      node.type === 'VariableDeclarator'
        ? node.id
        : node.type === 'Property' || node.type === 'MethodDefinition'
          ? node.key
          : null;
    const inner = assigned === null ? '' : (text.slice(assigned.start, assigned.end).split(':')[0] ?? '');
    for (const child of Object.values(node).flat()) if (isNode(child)) visit(child, inner);
  };
  visit(parseSync(file, text).program, '');
  return found;
}

function read(file: string): Source {
  const text = readFileSync(file, 'utf8');
  const { module, comments, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const code =
    comments.map(({ start }, index) => text.slice(comments[index - 1]?.end ?? 0, start)).join('') +
    text.slice(comments.at(-1)?.end ?? 0);
  return { file, text, code, imports: listImports(file, text, module) };
}

/** Without what other tests and the build of the console generate, which may be absent or half written. */
const readAll = (...patterns: string[]): Source[] =>
  globSync(patterns, {
    exclude: (name) => name === 'node_modules' || name === '.generated' || name === 'dist',
  })
    .map((file) => file.replaceAll('\\', '/'))
    .sort()
    .map(read);

export const src = readAll('src/**/*.ts');
export const packages = readAll('packages/*/src/**/*.ts');
export const demo = readAll('demo/**/*.ts');
/** Everything that runs outside of tests, except for what a browser loads. */
export const programs = [...src, ...packages, ...demo];
/** Commands for developers, and what a browser loads. */
export const tools = readAll('{bench,db,scripts}/**/*.{ts,mjs}');
export const web = readAll('web/**/*.{js,mjs,ts,tsx}');
export const tests = readAll('test/**/*.ts', 'packages/*/test/**/*.ts');
export const migrations = readAll('migrations/*.ts');
export const everything = [...programs, ...tools, ...web, ...tests, ...migrations];

export const offending = (sources: readonly Source[], rule: RegExp): string[] =>
  sources.filter(({ code }) => rule.test(code)).map(({ file }) => file);

const inRepository = /^(src|packages|demo|bench|db|scripts|web|test|migrations)\//;
export const isInRepository = (target: string): boolean => inRepository.test(target);
