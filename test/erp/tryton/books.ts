// Tryton's own server over a SQLite database of its own, from Debian's packages. What is true is read from that database,
// past the interface that the connector reads.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { openScratchFolder } from '../../setup/scratch-folder.ts';
import { findStablePort } from '../../setup/stable-port.ts';
import { until } from '../../setup/until.ts';

const [user, password, database] = ['admin', 'books-passw0rd', 'books'];
const modules = ['sale', 'account_invoice', 'account_payment'];

/** Calls as a person's own client would; numbers in answers don't matter here. */
function createClient(url: string) {
  let session = '';
  const call = async (method: string, ...params: readonly unknown[]): Promise<unknown> => {
    const response = await fetch(`${url}/${database}/`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(session !== '' && { authorization: session }) },
      body: JSON.stringify({ id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result?: unknown; error?: unknown };
    if (error !== undefined) throw new Error(JSON.stringify(error));
    return result;
  };
  const signIn = async (): Promise<void> => {
    const [id, key] = (await call('common.db.login', user, { password }, 'en')) as [number, string];
    session = `Session ${Buffer.from(`${user}:${id}:${key}`).toString('base64')}`;
  };
  return { call, signIn };
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGKILL');
  await ended;
}

/** Takes some ten seconds: the database is new. Rejects where the packages are missing. */
export async function startBooks() {
  const scratch = await openScratchFolder('portal-tryton-');
  const port = await findStablePort();
  const at = (name: string): string => path.join(scratch.folder, name);
  await mkdir(at('db'));
  await (await open(at(`db/${database}.sqlite`), 'w')).close();
  await writeFile(at('password'), `${password}\n`);
  await writeFile(
    at('trytond.conf'),
    `[database]\nuri = sqlite://\npath = ${at('db')}\n[web]\nlisten = 127.0.0.1:${port}\n`,
  );
  const chosen = ['-c', at('trytond.conf'), '-d', database];
  const update = [
    ...chosen,
    '--all',
    '--email',
    'admin@books.example',
    '-u',
    ...modules,
    '--activate-dependencies',
  ];
  const env = { PATH: process.env['PATH'], TRYTONPASSFILE: at('password') };
  await promisify(execFile)('trytond-admin', update, { env });
  const server = spawn('trytond', chosen, { env, stdio: 'ignore' });
  const url = `http://127.0.0.1:${port}`;
  const client = createClient(url);
  await until(
    () =>
      client.signIn().then(
        () => true,
        () => false,
      ),
    60_000,
  );
  const file = new DatabaseSync(at(`db/${database}.sqlite`), { readOnly: true });
  return {
    ...{ url, database, user, password },
    call: client.call,
    /** Rows of one of Tryton's tables. */
    query: (sql: string): Record<string, unknown>[] => file.prepare(sql).all(),
    stop: async () => {
      file.close();
      await stopServer(server);
      await scratch.remove();
    },
  };
}
