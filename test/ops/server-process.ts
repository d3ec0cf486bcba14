// The service as an operator runs it: a process of its own, over a database of its own on the PostgreSQL of the test run.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inject } from 'vitest';
import { openKnex } from '../../src/db/connect.ts';
import { type TestServer, templateName } from '../setup/global.ts';
import { until } from '../setup/until.ts';

export type OpsDatabase = {
  readonly address: TestServer;
  /** For DATABASE_URL. */
  readonly url: string;
  /** For DATA_DIR. */
  readonly folder: string;
  close(): Promise<void>;
};

/** `from` null gives an empty one. */
export async function opsDatabase(from: string | null = templateName): Promise<OpsDatabase> {
  const server = inject('pg');
  const name = `ops_${randomBytes(6).toString('hex')}`;
  const asAdmin = async (sql: string): Promise<void> => {
    const admin = openKnex(server, null, 1);
    await admin.raw(sql).finally(() => admin.destroy());
  };
  await asAdmin(`create database ${name}${from === null ? '' : ` template ${from}`}`);
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-ops-'));
  const url = server.host.startsWith('/')
    ? `postgres://${server.user}@/${name}?host=${encodeURIComponent(server.host)}&port=${server.port}`
    : `postgres://${server.user}@${server.host}:${server.port}/${name}`;
  return {
    address: { ...server, database: name },
    url,
    folder,
    close: async () => {
      await asAdmin(`drop database if exists ${name} with (force)`);
      await rm(folder, { recursive: true, force: true });
    },
  };
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
