// The service as an operator runs it: a process of its own, over a database of its own on the PostgreSQL of the test run.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { templateName } from '../setup/global.ts';
import { until } from '../setup/until.ts';

export type OpsDatabase = TestDatabase & {
  /** For DATABASE_URL. */
  readonly url: string;
  /** For DATA_DIR: processes that share it share an encryption key. */
  readonly folder: string;
};

/** From null: an empty one, for a server to migrate; its `ctx` is of use only after that. */
export async function opsDatabase(from: string | null = templateName): Promise<OpsDatabase> {
  const database = await testDatabase();
  if (from === null) await empty(database.address.database);
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-ops-'));
  const { host, port, user, database: name } = database.address;
  return {
    ...database,
    folder,
    url: host.startsWith('/')
      ? `postgres://${user}@/${name}?host=${encodeURIComponent(host)}&port=${port}`
      : `postgres://${user}@${host}:${port}/${name}`,
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
  /** Whole lines of its log so far. */
  readonly lines: () => LogLine[];
  /** Waits for a line of the log, or for the end of the process. */
  line(fits: (line: LogLine) => boolean): Promise<LogLine>;
  /** The exit code; null after a signal that ended it. */
  readonly ended: Promise<number | null>;
};

export type ServingProcess = ServerProcess & { readonly url: string };

export function startProcess(
  { url, folder }: Pick<OpsDatabase, 'url' | 'folder'>,
  args: readonly string[] = ['serve'],
  environment: Readonly<Record<string, string>> = {},
): ServerProcess {
  const child = spawn(process.execPath, ['scripts/run.mjs', ...args], {
    env: { PATH: process.env['PATH'] ?? '', DATA_DIR: folder, DATABASE_URL: url, PORT: '0', LOG_LEVEL: 'info', ...environment },
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
        if (found === undefined && (child.exitCode !== null || child.signalCode !== null)) throw new Error(`it ended: ${stdout}${stderr}`);
        return found;
      }),
    ended,
  };
}

/** A server that listens. Kill it, or stop it and await `ended`. */
export async function startServer(
  database: Pick<OpsDatabase, 'url' | 'folder'>,
  environment: Readonly<Record<string, string>> = {},
): Promise<ServingProcess> {
  const running = startProcess(database, ['serve'], environment);
  const { url } = await running.line(({ msg }) => msg === 'listening');
  return { ...running, url: String(url) };
}
