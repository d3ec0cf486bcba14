// Operators' commands as processes next to running services: the encryption key is rotated without downtime,
// and a command that must not run does nothing.
import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from 'vitest';
import { tryExclusiveLock } from '../../src/db/exclusive-lock.ts';
import { publishVersion } from '../public/fixture.ts';
import { createApi } from '../setup/api.ts';
import { makeKey } from '../setup/organization.ts';
import { memoryErp, type SyncFixture, syncFixture } from '../sync/fixture.ts';
import { type ServingProcess, useOpsDatabase } from './server-process.ts';

const endpoint = { name: 'things', recordType: 'thing', fields: [{ name: 'name', source: 'name' }] };
const [first, second] = ['first', 'second'].map((id) => `${id}:${randomBytes(32).toString('base64')}`) as [
  string,
  string,
];

const database = useOpsDatabase();
let fixture: SyncFixture;
let secret: string;

beforeAll(async () => {
  fixture = await syncFixture(database.ctx, memoryErp());
  fixture.erp.put(1);
  await fixture.sync();
  await publishVersion(database.ctx, fixture.organizationId, { endpoints: [endpoint] });
  ({ secret } = await makeKey(database.ctx, fixture.organizationId, { permissions: ['write'] }));
});

const admin = (keys: string, ...args: string[]) => database.run(['admin', ...args], { ENCRYPTION_KEY: keys });
const serve = (keys: string) => database.start({ ENCRYPTION_KEY: keys, RATE_LIMIT_PER_MINUTE: '10000' });
const stop = async (server: ServingProcess): Promise<void> => expect(await server.stop()).toBe(0);
const changes = ({ url }: ServingProcess, since: string | null) =>
  fetch(`${url}/api/public/v1/things/changes${since === null ? '' : `?since=${since}`}`, {
    headers: { authorization: `Bearer ${secret}`, 'x-tenant-id': fixture.organizationId },
  });
const readNextToken = async (server: ServingProcess): Promise<string> =>
  ((await (await changes(server, null)).json()) as { next: string }).next;

const secrets = { consumerSecret: 'cs', tokenSecret: 'ts' };
const connect = ({ url }: ServingProcess) =>
  createApi(url, secret)('put', '/netsuite/connection', {
    accountId: '1234567',
    authentication: { ...{ method: 'tba', consumerKey: 'ck', tokenId: 'ti' }, ...secrets },
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
    const lacking = `^Nothing was changed\\. These processes \\(host:process id\\) lack the key second.+: \\S+:${alone.child.pid}\\. Add it to`;
    expect(early).toEqual({ code: 1, stdout: '', stderr: expect.stringMatching(new RegExp(lacking)) });
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
    const sameId = `first:${randomBytes(32).toString('base64')},${second}`;
    const other = await database.run(['serve'], { ENCRYPTION_KEY: sameId });
    const differs = `^Other processes use this database with another ENCRYPTION_KEY .+: \\S+:${serves.child.pid}\\. Start`;
    expect(other).toMatchObject({ code: 1, stderr: expect.stringMatching(new RegExp(differs)) });
    await stop(serves);
  });
});

describe('a command', () => {
  it('reads no replica', async () => {
    const listed = await database.run(['admin', 'list-runs'], {
      ENCRYPTION_KEY: second,
      READ_URL: 'postgres://nobody@127.0.0.1:1/portal',
    });
    expect(listed).toMatchObject({ code: 0, stdout: expect.not.stringContaining('replica') });
    expect(listed.stderr).not.toContain('replica');
  });

  it('is rejected while another one runs, and changes nothing in a database of another version', async () => {
    const release = await tryExclusiveLock(database.address, 'portal-service admin');
    const late = await admin(second, 'rotate-encryption-key');
    await release?.();
    const inProgress = 'Another command that must run alone is in progress. Wait for it to end.\n';
    expect(late).toEqual({ code: 1, stdout: '', stderr: inProgress });
    await database.query("insert into knex_migrations (name, batch) values ('9999_later.ts', 99)");
    const newer = await admin(second, 'list-runs');
    expect([newer.code, newer.stderr]).toEqual([1, expect.stringContaining('migrated by a newer version')]);
    await database.query("delete from knex_migrations where batch = 99 or name like '0024%'");
    const older = await admin(second, 'organizations');
    expect([older.code, older.stderr]).toEqual([1, expect.stringContaining('migrated by an older version')]);
  });
});
