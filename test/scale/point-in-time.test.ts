// A base backup and an archive of the log, restored to a moment before the last publish, with the commands in
// docs/backup.md.
import { execFile } from 'node:child_process';
import { appendFile, chown, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { findPrograms } from '../../src/db/embedded/programs.ts';
import { runCommand, type ServingProcess, startServer } from '../ops/server-process.ts';
import { openPublished, type Published, sync, useErpSite, waitForEnd } from '../ops/site.ts';
import { findClientPrograms } from '../setup/client-programs.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { describeIf } from '../setup/describe-if.ts';
import { openScratchFolder } from '../setup/scratch-folder.ts';
import { until } from '../setup/until.ts';
import { removeServer, type Server, startFilled } from './harness/server.ts';
import { type Servers, startPair } from './harness/servers.ts';

const { major } = await findPrograms(() => undefined);
const programs = await findClientPrograms(major);

type Held = { readonly tag: string; readonly token: string; readonly phones: string };

describeIf('point-in-time recovery', typeof programs === 'string' ? programs : undefined, () => {
  const site = useErpSite();
  let folder: string;
  let remove: () => Promise<void>;
  let servers: Servers;
  let restored: Server | undefined;
  let company: Published['company'];
  let version: string;
  let customers: string;
  let serving: ServingProcess;
  const all: ServingProcess[] = [];
  const held: Held[] = [];
  let moment: string;

  const archive = () => path.join(folder, 'archive');
  const backup = () => path.join(folder, 'backup');
  const toPlace = ({ connection }: Server) => ({
    url: databaseUrl({ ...connection, database: 'portal' }),
    folder: path.join(folder, 'data'),
  });
  const start = async (server: Server): Promise<ServingProcess> => {
    const started = await startServer(toPlace(server), site.environment);
    all.push(started);
    return started;
  };
  const list = () => `/${version}/customer?pageSize=1000`;
  const hold = async (generation?: string): Promise<Held> => {
    const { headers, body } = await until(async () => {
      const answer = await company.read(serving.url, list());
      expect(answer.status, answer.text).toBe(200);
      return generation === undefined || answer.headers.get('x-data-generation') === generation
        ? answer
        : undefined;
    });
    const changes = await company.read(serving.url, `/${version}/customer/changes?limit=1000`);
    return {
      tag: headers.get('etag') ?? '',
      token: encodeURIComponent(changes.body.next),
      phones: body.data.map(({ phone }: { phone: string }) => phone).join(),
    };
  };
  const publishPhone = async (phone: string): Promise<Held> => {
    await site.change(
      `update ledger.customer set phone = '${phone}', lastmodifieddate = now() where id <= 5`,
    );
    const run = await sync(company, serving.url, customers);
    expect(run).toMatchObject({ status: 'succeeded' });
    return hold(run.generation);
  };
  const archived = async ({ query }: Server): Promise<void> => {
    const [log] = await query<{ file: string }>('select pg_walfile_name(pg_switch_wal()) as file');
    await until(async () => {
      const [{ last } = { last: '' }] = await query<{ last: string }>(
        'select last_archived_wal as last from pg_stat_archiver',
      );
      return last >= (log?.file ?? '');
    });
  };
  const baseBackup = async ({ connection }: Server): Promise<void> => {
    if (typeof programs === 'string') return;
    const { host, port, user, password } = connection;
    const args = ['-h', host, '-p', String(port), '-U', user, '-D', backup(), '-c', 'fast'];
    await promisify(execFile)(programs.baseBackup, args, {
      env: { PATH: process.env['PATH'] ?? '', PGPASSWORD: password },
    });
  };
  /** As docs/backup.md says: the base backup, with three settings and an empty file. */
  const recover = async (): Promise<Server> => {
    const { account } = await findPrograms(() => undefined);
    const place = { programs: await findPrograms(() => undefined), folder, name: 'restored' };
    return startFilled(place, servers.primary.connection.password, async (dataFolder) => {
      await promisify(execFile)('cp', ['-a', backup(), dataFolder]);
      const settings = {
        restore_command: `cp ${archive()}/%f %p`,
        recovery_target_time: moment,
        recovery_target_action: 'promote',
        archive_mode: 'off',
      };
      const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
      await appendFile(path.join(dataFolder, 'postgresql.auto.conf'), lines.join(''));
      await appendFile(path.join(dataFolder, 'recovery.signal'), '');
      if (account) await chown(dataFolder, account.uid, account.gid);
    });
  };

  beforeAll(async () => {
    ({ folder, remove } = await openScratchFolder('portal-moment-'));
    const { account } = await findPrograms(() => undefined);
    await mkdir(archive());
    await mkdir(path.join(folder, 'data'));
    if (account) await chown(archive(), account.uid, account.gid);
    const archiving = {
      archive_mode: 'on',
      archive_command: `test ! -f ${archive()}/%f && cp %p ${archive()}/%f`,
    };
    servers = await startPair(folder, { standbys: 0, settings: archiving });
    const { primary } = servers;
    await primary.query('create database portal');
    serving = await start(primary);
    const address = { ...primary.connection, database: 'portal' };
    const opened = await openPublished(address, serving.url, site);
    ({ company, version } = opened);
    customers = opened.configs.get('customer') ?? '';
    await baseBackup(primary);
    held.push(await publishPhone('0161 kept'));
    const [now] = await primary.query<{ moment: string }>('select clock_timestamp()::text as moment');
    moment = now?.moment ?? '';
    held.push(await publishPhone('0161 lost'));
    await archived(primary);
    await serving.kill();
    await company.close();
    await primary.kill();
  });
  afterAll(async () => {
    for (const server of all) await server.kill();
    await company?.close();
    await restored?.kill();
    if (restored !== undefined) await removeServer(restored);
    await servers?.stop();
    await remove();
  });

  it('has the records of that moment on a timeline of its own', async () => {
    restored = await recover();
    const { query } = restored;
    await until(
      async () => (await query<{ is: boolean }>('select pg_is_in_recovery() as is'))[0]?.is === false,
    );
    expect(await query('select substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) as timeline')).toEqual([
      { timeline: '00000002' },
    ]);
    const finish = ['admin', 'finish-restore', '--json'];
    const finished = await runCommand(toPlace(restored), finish, site.environment);
    expect(finished.code, finished.stderr).toBe(0);
    expect(JSON.parse(finished.stdout)).toMatchObject({
      organizations: [{ runs: { queued: 2 } }],
      verified: { problems: [] },
    });
  });

  it('accepts no tag and no token of the time before, and becomes what the ERP has', async () => {
    expect(restored).toBeDefined();
    if (restored === undefined) return;
    company = { ...company, close: async () => undefined };
    serving = await start(restored);
    for (const { tag, token } of held) {
      const answer = await company.read(serving.url, list(), { 'if-none-match': tag });
      expect([answer.status, answer.headers.get('etag') === tag]).toEqual([200, false]);
      expect((await company.read(serving.url, `/${version}/customer/changes?since=${token}`)).status).toBe(
        410,
      );
    }
    const runs = await company.call(serving.url, 'get', '/sync-runs?pageSize=2');
    for (const { id } of runs.body.data)
      expect(await waitForEnd(company, serving.url, id)).toMatchObject({ status: 'succeeded' });
    expect(
      (await until(async () => ((await hold()).phones === held[1]?.phones ? hold() : undefined))).tag,
    ).not.toBe(held[1]?.tag);
  });
});
