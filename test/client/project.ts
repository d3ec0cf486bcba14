// A folder of a developer who uses the client: the built package, and compilers of both languages.
import { execFile } from 'node:child_process';
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { createScratchFolder } from '../setup/scratch-folder.ts';

const root = path.resolve('.');
const modules = path.join(root, 'node_modules');

const compilerOptions = {
  target: 'es2023',
  lib: ['es2023', 'dom'],
  module: 'nodenext',
  types: ['node'],
  strict: true,
  noEmit: true,
  skipLibCheck: false,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  verbatimModuleSyntax: true,
  isolatedModules: true,
  erasableSyntaxOnly: true,
  allowImportingTsExtensions: true,
};

type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string };

export type ClientProject = {
  readonly folder: string;
  /** Runs a program in the folder; it must end within ten minutes. */
  run(program: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ran>;
  /** The package's command line, as `npx --no portal` runs it. */
  portal(args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran>;
  write(files: Readonly<Record<string, string>>): Promise<void>;
  /** What the compilers say against the TypeScript of the folder: nothing when all is well. */
  compile(): Promise<Readonly<Record<'5.9' | '7', string>>>;
  /** What Pyright says against the Python of the folder, without its count of errors. */
  checkPython(): Promise<string>;
  remove(): Promise<void>;
};

/** Creates the folder; the caller removes it. The package must have been built. */
export async function createClientProject(): Promise<ClientProject> {
  const folder = await createScratchFolder('portal-client-');
  const run: ClientProject['run'] = (program, args, env = {}) =>
    promisify(execFile)(program, [...args], {
      cwd: folder,
      env: { ...process.env, ...env },
      timeout: 600_000,
      maxBuffer: 64 << 20,
    }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: Error & Partial<Ran>) => ({
        code: typeof error.code === 'number' ? error.code : -1,
        stdout: error.stdout ?? '',
        stderr: error.stderr ?? error.message,
      }),
    );
  const runScript = (script: string, args: readonly string[], env?: Readonly<Record<string, string>>) =>
    run(process.execPath, [path.join(modules, script), ...args], env);
  const write: ClientProject['write'] = async (files) => {
    for (const [name, text] of Object.entries(files)) {
      await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
      await writeFile(path.join(folder, name), text);
    }
  };
  await symlink(modules, path.join(folder, 'node_modules'));
  await write({
    'package.json': JSON.stringify({ name: 'a-developers-program', private: true, type: 'module' }),
    'tsconfig.json': JSON.stringify({ compilerOptions, include: ['*.ts', 'src'] }),
    'pyrightconfig.json': JSON.stringify({
      pythonVersion: '3.9',
      typeCheckingMode: 'strict',
      reportUnnecessaryTypeIgnoreComment: 'error',
      exclude: ['node_modules'],
    }),
  });
  return {
    folder,
    run,
    write,
    portal: (args, env) => runScript('portal-service-client/dist/cli/main.js', args, env),
    compile: async () => ({
      '5.9': (await runScript('typescript/bin/tsc', ['-p', '.'])).stdout,
      '7': (await runScript('typescript-7/bin/tsc', ['-p', '.'])).stdout,
    }),
    checkPython: async () => {
      const { stdout } = await runScript('pyright/index.js', []);
      return stdout.replace(/^0 errors, 0 warnings, 0 informations\s*$/m, '').trim();
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The Python that is installed, or the reason why there is none. */
export const findPython = (): Promise<{ readonly version: string } | string> =>
  promisify(execFile)('python3', ['--version']).then(
    ({ stdout }) => ({ version: stdout.trim() }),
    () => 'Python is needed, and there is none',
  );
