// Operators' commands as processes next to running services: the encryption key is rotated without downtime,
// and a command that must not run does nothing.
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tryExclusiveLock } from '../../src/db/exclusive-lock.ts';
import { publishVersion } from '../public/fixture.ts';
import { createApi } from '../setup/api.ts';
import { makeKey } from '../setup/organization.ts';
import { asAdmin, memoryErp, type SyncFixture, syncFixture } from '../sync/fixture.ts';
import {
  type OpsDatabase,
  opsDatabase,
  type ServingProcess,
  startProcess,
  startServer,
} from './server-process.ts';

const endpoint = { name: 'things', recordType: 'thing', fields: [{ name: 'name', source: 'name' }] };
const [first, second] = ['first', 'second'].map((id) => `${id}:${randomBytes(32).toString('base64')}`) as [
  string,
  string,
];

let database: OpsDatabase;
let fixture: SyncFixture;
let secret: string;
const serving = new Set<ServingProcess>();

beforeAll(async () => {
  database = await opsDatabase();
  fixture = await syncFixture(database.ctx, memoryErp());
  fixture.erp.put(1);
  await fixture.sync();
  await publishVersion(database.ctx, fixture.organizationId, { endpoints: [endpoint] });
  ({ secret } = await makeKey(database.ctx, fixture.organizationId, { permissions: ['write'] }));
});
afterAll(async () => {
  for (const { child, ended } of serving) {
    child.kill('SIGKILL');
    await ended;
  }
  await database.close();
});

async function admin(
  keys: string,
  ...args: string[]
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const command = startProcess(database, ['admin', ...args], { ENCRYPTION_KEY: keys });
  return { code: await command.ended, ...command.output() };
}
async function serve(keys: string): Promise<ServingProcess> {
  const server = await startServer(database, { ENCRYPTION_KEY: keys, RATE_LIMIT_PER_MINUTE: '10000' });
  serving.add(server);
  return server;
}
async function stop(server: ServingProcess): Promise<void> {
  server.child.kill('SIGTERM');
  expect(await server.ended).toBe(0);
  serving.delete(server);
}
const changes = ({ url }: ServingProcess, since: string | null) =>
  fetch(`${url}/api/public/v1/things/changes${since === null ? '' : `?since=${since}`}`, {
    headers: { authorization: `Bearer ${secret}`, 'x-tenant-id': fixture.organizationId },
  });
const readNextToken = async (server: ServingProcess): Promise<string> =>
  ((await (await changes(server, null)).json()) as { next: string }).next;

const connect = ({ url }: ServingProcess) =>
  createApi(url, secret)('put', '/netsuite/connection', {
    accountId: '1234567',
    authentication: {
      method: 'tba',
      consumerKey: 'ck',
      tokenId: 'ti',
      consumerSecret: 'cs',
      tokenSecret: 'ts',
    },
  });

describe('a new encryption key', () => {
  it('is added, put first, and replaces the old one while a process serves at all times', async () => {
    const alone = await serve(first);
    expect((await connect(alone)).status).toBe(200);
    const token = await readNextToken(alone);
    // One process after the other: one is running at all times, and each can decrypt what the others
    // encrypted.
    const behind = await serve(`${first},${second}`);
    // The process without the new key couldn't decrypt re-encrypted values.
    const early = await admin(`${second},${first}`, 'rotate-encryption-key');
    expect([early.code, early.stdout, early.stderr]).toEqual([
      1,
      '',
      expect.stringMatching(
        new RegExp(
          `^Nothing was changed\\. These processes \\(host:process id\\) lack the key second.+: \\S+:${alone.child.pid}\\. Add it to`,
        ),
      ),
    ]);
    await stop(alone);
    const inFront = await serve(`${second},${first}`);
    await stop(behind);
    expect((await admin(second, 'rotate-encryption-key')).code).toBe(3);
    const rotated = await admin(`${second},${first}`, 'rotate-encryption-key');
    expect([rotated.code, rotated.stdout]).toEqual([
      0,
      expect.stringMatching(
        /^1 value re-encrypted with the key second\nNo value is encrypted with first any more\. /,
      ),
    ]);
    expect((await changes(inFront, token)).status).toBe(200);
    const young = await readNextToken(inFront);
    const only = await serve(second);
    await stop(inFront);
    expect([(await changes(only, young)).status, (await changes(only, token)).status]).toEqual([200, 400]);
    const verified = await admin(second, 'verify-restore', '--json');
    expect([verified.code, JSON.parse(verified.stdout)]).toMatchObject([
      0,
      { sealed: { values: 1, unreadable: {} }, problems: [] },
    ]);
    expect((await connect(only)).status).toBe(200);
    await stop(only);
  });

  it('is refused at the start while a process without it serves, also under the same id', async () => {
    const serves = await serve(first);
    const other = startProcess(database, ['serve'], {
      ENCRYPTION_KEY: `first:${randomBytes(32).toString('base64')},${second}`,
    });
    expect([await other.ended, other.output().stderr]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `^Other processes use this database with another ENCRYPTION_KEY .+: \\S+:${serves.child.pid}\\. Start`,
        ),
      ),
    ]);
    await stop(serves);
  });
});

describe('a command', () => {
  it('is rejected while another one runs, and changes nothing in a database of another version', async () => {
    const release = await tryExclusiveLock(database.address, 'portal-service admin');
    const late = await admin(second, 'rotate-encryption-key');
    await release?.();
    expect([late.code, late.stdout, late.stderr]).toEqual([
      1,
      '',
      'Another command that must run alone is in progress. Wait for it to end.\n',
    ]);
    await asAdmin(database, (owner) => owner('knex_migrations').insert({ name: '9999_later.ts', batch: 99 }));
    const newer = await admin(second, 'list-runs');
    expect([newer.code, newer.stderr]).toEqual([1, expect.stringContaining('migrated by a newer version')]);
    await asAdmin(database, (owner) =>
      owner('knex_migrations').where('batch', 99).orWhere('name', 'like', '0024%').delete(),
    );
    const older = await admin(second, 'organizations');
    expect([older.code, older.stderr]).toEqual([1, expect.stringContaining('migrated by an older version')]);
  });
});
