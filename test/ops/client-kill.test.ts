// A server is killed in the middle of each way to read many records, and started again at the same address: the
// client's programs, in TypeScript and Python, get the same records as without that.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pull } from '../../packages/client/src/cli/pull.ts';
import { createTransport } from '../../packages/client/src/transport.ts';
import { createApp } from '../../src/app.ts';
import { type ClientProject, createClientProject, findPython } from '../client/project.ts';
import { openOrganization } from '../public/fixture.ts';
import { notRun } from '../setup/not-run.ts';
import { findStablePort } from '../setup/stable-port.ts';
import { type ServingProcess, useOpsDatabase } from './server-process.ts';

const database = useOpsDatabase();
const count = 4_000;
/** So long and so random that a response doesn't fit into the buffers between server and program. */
const memo = () => randomBytes(800).toString('hex');
const rows = Array.from({ length: count }, (_, index) => ({
  id: index + 1,
  tranid: `INV-${index + 1} ${memo()}`,
  total: String(index),
}));
const whole = { code: 0, found: rows.map(({ id }) => String(id)), isContinued: true };

let project: ClientProject;
let port: number;
let server: ServingProcess;
let environment: Record<string, string>;
const start = () => database.start({ PORT: String(port) });

/** Each prints the ids, one per line, and is slow enough to be in the middle when the server is killed. */
const programs = {
  typescript: `import { connect } from './src/portal/v1.ts';
const { invoices } = connect({ baseUrl: process.env['PORTAL_URL'] ?? '', key: process.env['PORTAL_KEY'] ?? '' });
const ways = {
  list: () => invoices.list({ pageSize: 50, fields: ['total'], sort: 'total' }),
  export: () => invoices.export({ sort: 'total' }),
  async *changes() {
    for await (const change of invoices.changes()) if (change.op === 'upsert') yield change;
  },
};
const way = process.argv[2] as keyof typeof ways;
let count = 0;
for await (const { id } of ways[way]()) {
  console.log(id);
  count += 1;
  if (count === 1_500) await new Promise((resolve) => process.stdin.once('data', resolve));
}
process.stdin.destroy();
`,
  python: `import os
import sys

from portal import v1

invoices = v1.connect(os.environ["PORTAL_URL"], os.environ["PORTAL_KEY"]).invoices
way = sys.argv[1]
if way == "list":
    records = (record["id"] for record in invoices.list(pageSize=50, fields=["total"], sort="total"))
elif way == "export":
    records = (record["id"] for record in invoices.export(sort="total"))
else:
    records = (change["id"] for change in invoices.changes() if change["op"] == "upsert")
for count, id in enumerate(records):
    print(id, flush=True)
    if count == 1499:
        sys.stdin.readline()
`,
};

beforeAll(async () => {
  port = await findStablePort();
  const organization = await openOrganization(database.ctx, createApp(database.ctx), { rows });
  server = await start();
  project = await createClientProject();
  const options = { baseUrl: server.url, key: (await organization.key()).secret };
  environment = { PORTAL_URL: options.baseUrl, PORTAL_KEY: options.key };
  const client = { folder: project.folder, version: 'v1', integers: 'text' } as const;
  const transport = createTransport(options);
  await pull(transport, { ...client, lang: 'ts', out: 'src/portal' }, () => undefined);
  await pull(transport, { ...client, lang: 'python', out: 'portal' }, () => undefined);
  await project.write({ 'main.ts': programs.typescript, 'main.py': programs.python });
});
afterAll(() => project.remove());

/** Kills the server when the program has read 1,500 records, and starts it again. */
async function readThroughKill(program: string, script: string, way: string) {
  const child = spawn(program, [script, way], {
    cwd: project.folder,
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  const found: string[] = [];
  for await (const line of createInterface(child.stdout)) {
    found.push(line);
    if (found.length !== 1_500) continue;
    await server.kill();
    child.stdin.write('\n');
    server = await start();
  }
  const [code] = await ended;
  const path = `/api/public/v1/invoices${way === 'changes' ? '/changes' : ''}`;
  const isContinued = server.lines().some((line) => line['path'] === path && line['status'] === 200);
  return { code, found, isContinued };
}

describe.each(['list', 'export', 'changes'])('%s', (way) => {
  it('gives the same in TypeScript', async () => {
    expect(await readThroughKill(process.execPath, 'main.ts', way)).toEqual(whole);
  });

  it('gives the same in Python', async (context) => {
    const python = await findPython();
    if (typeof python === 'string') return context.skip(notRun(python));
    expect(await readThroughKill('python3', 'main.py', way)).toEqual(whole);
  });
});
