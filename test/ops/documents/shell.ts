// A reader's shell and terminals: the shell keeps variables, functions and its folder from block to block.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';

export type Environment = Readonly<Record<string, string>>;
/**
 * What a block did. `failures` are commands with an exit code other than 0, wherever they are in the block.
 */
export type Outcome = {
  readonly out: string;
  readonly err: string;
  readonly failures: string;
  /** Of every response that curl got. */
  readonly statuses: readonly number[];
};
export type Shell = { run(block: string): Promise<Outcome>; close(): Promise<void> };

/** Notes the status of each response; otherwise it is the reader's curl. */
const curl = (file: string, realPath: string) => `#!/usr/bin/env bash
code=0
said=$(mktemp)
PATH='${realPath}' command curl -w "%{stderr}\\n@status %{http_code}\\n" "$@" 2>"$said" || code=$?
grep '^@status ' "$said" >>'${file}'
grep -v '^@status ' "$said" >&2
rm "$said"
exit $code
`;

const loop = `set -uE
trap 'echo "line $LINENO, exit code $?: $BASH_COMMAND" >>"$BLOCK.failures"' ERR
while IFS= read -r BLOCK <&3; do
  source "$BLOCK" </dev/null >"$BLOCK.out" 2>"$BLOCK.err"
  echo done >&4
done`;

/**
 * Opens a shell in `cwd` that keeps its own files in `folder`. Its `run` rejects with an Error when a block
 * ends the shell.
 */
export async function openShell(folder: string, cwd: string, environment: Environment): Promise<Shell> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const statusFile = path.join(folder, 'statuses');
  await writeFile(path.join(folder, 'curl'), curl(statusFile, environment['PATH'] ?? ''));
  await chmod(path.join(folder, 'curl'), 0o755);
  const env = { ...environment, PATH: `${folder}:${environment['PATH']}` };
  const child = spawn('bash', ['--noprofile', '--norc', '-c', loop], {
    cwd,
    env,
    stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'],
  });
  const [, , errors, input, output] = child.stdio as unknown as [null, null, Readable, Writable, Readable];
  const ended = once(child, 'close');
  const said = text(errors);
  const lines = createInterface(output)[Symbol.asyncIterator]();
  const read = (file: string) => readFile(file, 'utf8').catch(() => '');
  let count = 0;
  return {
    async run(block) {
      count += 1;
      const file = path.join(folder, `block-${count}`);
      await Promise.all([writeFile(file, `${block}\n`), rm(statusFile, { force: true })]);
      input.write(`${file}\n`);
      const { done } = await lines.next();
      const [out, err, failures, statuses] = await Promise.all([
        read(`${file}.out`),
        read(`${file}.err`),
        read(`${file}.failures`),
        read(statusFile),
      ]);
      if (done === true) throw new Error(`the block ended the shell:\n${block}\n${err}${await said}`);
      return {
        out,
        err,
        failures,
        statuses: [...statuses.matchAll(/ (\d+)$/gm)].map(([, status]) => Number(status)),
      };
    },
    async close() {
      input.end();
      await ended;
    },
  };
}

export type Terminal = {
  readonly output: () => string;
  seen(pattern: RegExp): Promise<void>;
  stop(): Promise<void>;
};

/** Starts commands in a terminal of their own. Ctrl-C (`stop`) reaches all of their processes. */
export function openTerminal(commands: string, cwd: string, env: Environment): Terminal {
  const child: ChildProcess = spawn('bash', ['--noprofile', '--norc', '-c', commands], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  let printed = '';
  const look = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      printed += chunk.toString();
      for (const each of look) each();
    });
  return {
    output: () => printed,
    seen: (pattern) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (pattern.test(printed)) resolve();
        };
        look.add(check);
        check();
        ended.then(() => reject(new Error(`"${commands}" ended without printing ${pattern}:\n${printed}`)));
      }),
    async stop() {
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null)
        process.kill(-child.pid, 'SIGINT');
      await ended;
    },
  };
}
