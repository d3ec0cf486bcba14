// Runs the service as an operator would: in a process of its own, on a database of its own in the PostgreSQL
// of the test run.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { templateName } from '../setup/global.ts';
import { until } from '../setup/until.ts';

export type OpsDatabase = TestDatabase & {
  /** For DATABASE_URL. */
  readonly url: string;
  /** For DATA_DIR; processes that share it use the same encryption key. */
  readonly folder: string;
};

/** With null: an empty database, which a server migrates; its `ctx` can only be used after that. */
export async function opsDatabase(from: string | null = templateName): Promise<OpsDatabase> {
  const database = await testDatabase();
  if (from === null) await empty(database.address.database);
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-ops-'));
  return {
    ...database,
    folder,
    url: databaseUrl(database.address),
    close: async () => {
      await database.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function empty(name: string): Promise<void> {
  const admin = openKnex(inject('pg'), null, 1);
  await admin.raw(`drop database ${name} with (force)`);
  await admin.raw(`create database ${name}`);
  await admin.destroy();
}

export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string };
export type ServerProcess = {
  readonly child: ChildProcess;
  readonly output: () => { readonly stdout: string; readonly stderr: string };
  /** The complete lines of its log so far. */
  readonly lines: () => LogLine[];
  /** Resolves with the first matching line of the log. Rejects with an Error when the process ends before. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** The exit code; null when a signal ended the process. */
  readonly ended: Promise<number | null>;
};

export type ServingProcess = ServerProcess & { readonly url: string };

/** `root`: of the version to run; by default this one. */
export function startProcess(
  { url, folder }: Pick<OpsDatabase, 'url' | 'folder'>,
  args: readonly string[] = ['serve'],
  environment: Readonly<Record<string, string>> = {},
  root = process.cwd(),
): ServerProcess {
  const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
    cwd: root,
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: folder,
      DATABASE_URL: url,
      PORT: '0',
      LOG_LEVEL: 'info',
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const lines = (): LogLine[] =>
    stdout
      .slice(0, stdout.lastIndexOf('\n') + 1)
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as LogLine] : []));
  return {
    child,
    output: () => ({ stdout, stderr }),
    lines,
    line: (fits) =>
      until(async () => {
        const found = lines().find(fits);
        if (found === undefined && (child.exitCode !== null || child.signalCode !== null))
          throw new Error(`it ended: ${stdout}${stderr}`);
        return found;
      }),
    ended,
  };
}

/** Starts a server and waits until it listens. The caller must kill it, or stop it and await `ended`. */
export async function startServer(
  database: Pick<OpsDatabase, 'url' | 'folder'>,
  environment: Readonly<Record<string, string>> = {},
  root?: string,
): Promise<ServingProcess> {
  const running = startProcess(database, ['serve'], environment, root);
  const { url } = await running.line(({ msg }) => msg === 'listening');
  return { ...running, url: String(url) };
}
