// A service in a process of its own, which is killed and started again from its journal.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ODataSimulator } from '../src/index.ts';
import { startClient } from './simulated.ts';

type Started = Pick<ODataSimulator, 'serviceRoot' | 'credentials' | 'control'>;
const main = path.join(import.meta.dirname, '../src/main.ts');
let folder = '';
const children: ChildProcess[] = [];

async function start(...args: string[]): Promise<Started & { kill(): Promise<unknown> }> {
  const ports = ['--port', '0', '--token-port', '0', '--control-port', '0'];
  const child = spawn(process.execPath, [main, ...ports, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  children.push(child);
  let output = '';
  for await (const chunk of child.stdout) {
    output += chunk;
    if (output.endsWith('}\n')) break;
  }
  const kill = async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  };
  return { ...JSON.parse(output), kill };
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'odata-simulator-'));
});
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await rm(folder, { recursive: true });
});

describe('a journal', () => {
  it('keeps records, ETags and delta links of a process that is killed', async () => {
    const journal = path.join(folder, 'orders.jsonl');
    const args = [
      '--profile',
      'generic',
      '--generate',
      'Orders=50',
      '--journal',
      journal,
      '--secret',
      'the same',
    ];
    const headers = { 'x-api-key': 'the same' };
    const first = await start(...args);
    const control = (method: string, url: string, body?: object) =>
      fetch(`${first.control?.url}${url}`, {
        method,
        headers: { authorization: `Bearer ${first.control?.token}` },
        ...(body && { body: JSON.stringify(body) }),
      });
    const tracked = await fetch(`${first.serviceRoot}Orders?$select=Id`, {
      headers: { ...headers, prefer: 'track-changes' },
    });
    const { '@deltaLink': link } = (await tracked.json()) as { '@deltaLink': string };
    await control('PATCH', '/records/Orders/7', {
      fields: { Number: 'Changed' },
      lines: [{ line: '9', fields: {} }],
    });
    await control('DELETE', '/records/Orders/8');
    expect((await control('PATCH', '/records/Orders/9', { fields: { Nothing: 1 } })).status).toBe(422);
    const list = 'Orders?$expand=Lines';
    const before = await (await fetch(`${first.serviceRoot}${list}`, { headers })).text();
    await first.kill();
    await appendFile(journal, '{"at":"2026-01-01T00:0');
    const second = await start(...args);
    const after = await (await fetch(`${second.serviceRoot}${list}`, { headers })).text();
    expect(after.replaceAll(second.serviceRoot, first.serviceRoot)).toBe(before);
    const delta = await fetch(link.replace(first.serviceRoot, second.serviceRoot), { headers });
    expect(await delta.json()).toMatchObject({
      value: [{ Id: 7 }, { Id: 8, '@removed': { reason: 'deleted' } }],
    });
    await second.kill();
    const third = await start(...args);
    const again = await (await fetch(`${third.serviceRoot}${list}`, { headers })).text();
    expect(again.replaceAll(third.serviceRoot, first.serviceRoot)).toBe(before);
  });
});

describe('many records', () => {
  it('are read in pages of at most 20,000', async () => {
    const client = await startClient({ profile: 'businessCentral', generate: { customers: 20_001 } });
    const first = await client.get('customers?$select=id');
    const { values, pages } = await client.all('customers?$select=id');
    await client.simulator.stop();
    expect([first.body.value.length, pages, new Set(values.map(({ id }) => id)).size]).toEqual([
      20_000, 2, 20_001,
    ]);
  });
});
