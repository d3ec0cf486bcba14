// Typed clients generated from the OpenAPI documents of the management interface and of a published version:
// programs written against the types compile under the strictest rules, and the same programs work against a
// listening service.
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { platformBase } from '../../src/http/served.ts';
import { describePlatform } from '../../src/platform/index.ts';
import { openDescribed } from '../public/described.ts';
import { type Get, invoicesEndpoint, openOrganization } from '../public/fixture.ts';
import { parties, richInvoices, richTargets } from '../public/openapi/richer-document.ts';
import { describeTargets } from '../public/related.ts';
import { testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { useStarted } from '../setup/use-started.ts';
import { listen } from './http.ts';

const client = path.resolve('test/client');
const generated = path.join(client, '.generated');

/** Runs a command of the client's own tools; its output is part of the failure. */
async function run(script: string, ...args: string[]): Promise<string> {
  const command = promisify(execFile)(process.execPath, [script, ...args], {
    cwd: client,
    timeout: 300_000,
    maxBuffer: 16 << 20,
  });
  return command.then(
    ({ stdout }) => stdout,
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${script}: ${error.stdout ?? ''} ${error.stderr ?? ''}`);
    },
  );
}

const database = useStarted(testDatabase);
const server = useStarted(() => listen(createApp(database.ctx)));
let reader: { secret: string; tenant: string };
let read: Get;
let publishedText: string;

async function generate(name: string, text: string): Promise<void> {
  await writeFile(path.join(generated, `${name}.json`), text);
  await run(
    '../../node_modules/openapi-typescript/bin/cli.js',
    `.generated/${name}.json`,
    '--output',
    `.generated/${name}.ts`,
  );
}

async function publish(): Promise<void> {
  const rows = Array.from({ length: 12 }, (_, index) => ({
    id: index + 1,
    tranid: `INV-${index + 1}`,
    status: 'open',
    total: String(index + 1),
    paid: index % 2 === 0,
    trandate: '2026-01-31',
    lastmodified: '2026-01-31T10:00:00Z',
    entity: index < 6 ? '1' : '2',
    lines: '[{"item":"7","quantity":1.5}]',
  }));
  const organization = await openOrganization(database.ctx, createApp(database.ctx), { rows });
  await describeTargets(database.ctx, organization.organizationId, richTargets);
  await organization.publish({ version: 'v2', endpoints: [richInvoices, parties] });
  reader = { tenant: organization.organizationId, secret: (await organization.key()).secret };
  read = organization.get;
}

beforeAll(async () => {
  await publish();
  publishedText = (await read('/openapi/v1')).text;
  const richerText = (await read('/openapi/v2')).text;
  await mkdir(generated, { recursive: true });
  await Promise.all([
    generate('platform', JSON.stringify(describePlatform(server.url))),
    generate('public', publishedText),
    generate('richer', richerText),
  ]);
});

describe('a typed client', () => {
  it('has a type for every operation', async () => {
    const types = await readFile(path.join(generated, 'platform.ts'), 'utf8');
    const { paths } = describePlatform(server.url) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    for (const item of Object.values(paths))
      for (const { operationId } of Object.values(item)) expect(types).toContain(`    ${operationId}: {`);
  });

  it('compiles with TypeScript 5.9, and rejects what the document does not describe', async () => {
    expect(await run('../../node_modules/typescript/bin/tsc', '--version')).toContain('5.9');
    expect(await run('../../node_modules/typescript/bin/tsc', '-p', '.')).toBe('');
  });

  it('creates, lists, changes, rotates and deletes', async () => {
    const organization = await makeOrganization(database.ctx);
    const { secret } = await makeKey(database.ctx, organization.id, { permissions: ['write'] });
    const result = JSON.parse(await run('scenario.ts', `${server.url}${platformBase}`, secret));
    expect(result).toEqual({
      organization: organization.slug,
      permissions: expect.any(Number),
      secret: 'psk_',
      listed: [{ id: true, name: 'Nightly report' }],
      total: 1,
      renamed: 'Weekly report',
      rotated: true,
      refused: { status: 422, code: 'VALIDATION_ERROR', fields: ['name'] },
      unknownField: true,
      deleted: 204,
      status: 'revoked',
    });
  });
});

describe('a typed client of a published version', () => {
  it('has a type for every operation and field', async () => {
    const types = await readFile(path.join(generated, 'public.ts'), 'utf8');
    for (const name of ['listInvoices', 'getInvoice', 'listInvoiceChanges', 'Invoice', 'ErrorResponse'])
      expect(types).toContain(`    ${name}: {`);
    for (const { name } of invoicesEndpoint.fields) expect(types).toMatch(new RegExp(`\\b${name}\\??: `));
  });

  it('filters, sorts, selects fields, pages, reads one record, and handles a missing one', async () => {
    expect(
      JSON.parse(await run('public-scenario.ts', `${server.url}/api/public`, reader.secret, reader.tenant)),
    ).toEqual({
      refused: 400,
      totals: [12, 11, 10],
      total: 12,
      narrowed: [['id', 'number', 'paid']],
      walked: { ids: 12, distinct: 12 },
      one: { id: true, lines: [1.5] },
      held: 304,
      changed: ['INV-1', 'INV-2'],
      gone: 0,
      missing: { status: 404, code: 'NOT_FOUND' },
      unknownField: true,
    });
  });

  it('summarizes, embeds related records and searches with types for all of it', async () => {
    const types = await readFile(path.join(generated, 'richer.ts'), 'utf8');
    for (const name of ['summarizeInvoices', 'InvoiceSummary', 'InvoiceSummaryRow'])
      expect(types).toContain(`    ${name}: {`);
    expect(
      JSON.parse(await run('richer-scenario.ts', `${server.url}/api/public`, reader.secret, reader.tenant)),
    ).toEqual({
      sums: ['57', '21'],
      counts: [6, 6],
      quarters: ['2026-Q1', '2026-Q1'],
      lastDay: ['2026-01-31', '2026-01-31'],
      groups: 2,
      buyers: ['INV-2', 'INV-2', 'INV-2'],
      status: 'open',
      found: ['INV-12', 'INV-1'],
      number: 'string',
    });
  });

  it.each([
    ['/v1/invoices?status=open&sort=total&order=desc&pageSize=2', '/v1/invoices', 200],
    ['/v1/invoices?page=99', '/v1/invoices', 200],
    ['/v1/invoices?fields=number', '/v1/invoices', 200],
    ['/v1/invoices/3', '/v1/invoices/{id}', 200],
    ['/v1/invoices?statuss=open', '/v1/invoices', 400],
    ['/v1/invoices/999', '/v1/invoices/{id}', 404],
  ])('%s responds as described', async (address, described, status) => {
    const answer = await read(address);
    expect(answer.status).toBe(status);
    const listProblems = openDescribed(publishedText);
    expect(listProblems(described, answer)).toEqual([]);
    expect(listProblems(described, { status, body: { ...answer.body, colour: 'red' } })).toEqual([
      ' must NOT have additional properties',
    ]);
  });
});
