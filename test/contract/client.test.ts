// A typed client made from the description: its types are generated, a program written against them compiles under the strictest
// rules, and the same program works against a listening service.
import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { describePlatform, platformBase } from '../../src/platform/index.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { listen, type Server } from './http.ts';

const client = path.resolve('test/client');
const generated = path.join(client, '.generated');

/** A command of the client's own tools; its words are part of the failure. */
async function run(script: string, ...args: string[]): Promise<string> {
  const command = promisify(execFile)(process.execPath, [script, ...args], { cwd: client, timeout: 300_000, maxBuffer: 16 << 20 });
  return command.then(
    ({ stdout }) => stdout,
    (error: { stdout?: string; stderr?: string }) => {
      throw new Error(`${script}: ${error.stdout ?? ''} ${error.stderr ?? ''}`);
    },
  );
}

let database: TestDatabase;
let server: Server;
beforeAll(async () => {
  database = await testDatabase();
  server = await listen(createApp(database.ctx));
  await mkdir(generated, { recursive: true });
  await writeFile(path.join(generated, 'platform.json'), JSON.stringify(describePlatform(server.url)));
  await run('node_modules/openapi-typescript/bin/cli.js', '.generated/platform.json', '--output', '.generated/platform.ts');
}, 120_000);
afterAll(async () => {
  await server.stop();
  await database.close();
});

describe('a typed client', () => {
  it('has a type for every operation', async () => {
    const types = await readFile(path.join(generated, 'platform.ts'), 'utf8');
    const { paths } = describePlatform(server.url) as { paths: Record<string, Record<string, { operationId: string }>> };
    for (const item of Object.values(paths))
      for (const { operationId } of Object.values(item)) expect(types).toContain(`    ${operationId}: {`);
  });

  it('compiles with TypeScript 5.9, and refuses what the description does not know', async () => {
    expect(await run('node_modules/typescript/bin/tsc', '--version')).toContain('5.9');
    expect(await run('node_modules/typescript/bin/tsc', '-p', '.')).toBe('');
  });

  it('creates, lists, changes, rotates and deletes', async () => {
    const organization = await makeOrganization(database.ctx);
    const { secret } = await makeKey(database.ctx, organization.id, { permissions: ['write'] });
    const told = JSON.parse(await run('scenario.ts', `${server.url}${platformBase}`, secret));
    expect(told).toEqual({
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
