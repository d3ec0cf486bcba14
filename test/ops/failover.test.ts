// Two servers of the service through a failover of the database that loses commits: one of them acts, and no
// mail is sent twice.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type PairDatabase, pairDatabase } from '../scale/harness/pair-database.ts';
import { base } from '../setup/api.ts';
import { databaseUrl } from '../setup/database-url.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { type ServingProcess, startServer } from './server-process.ts';

let database: PairDatabase;
let smtp: MailServer;
let folder: string;
const servers: ServingProcess[] = [];
beforeAll(async () => {
  [database, smtp, folder] = await Promise.all([
    pairDatabase(),
    startMailServer(),
    mkdtemp(path.join(tmpdir(), 'portal-ops-')),
  ]);
});
afterAll(async () => {
  for (const { child } of servers) child.kill('SIGKILL');
  for (const { ended } of servers) await ended;
  await database.close();
  await smtp.close();
  await rm(folder, { recursive: true, force: true });
});

const mailTo = (email: string) => smtp.delivered.filter(({ to }) => to.includes(email)).length;
const timelines = () =>
  database.query('select timeline, survived_at is not null as lost from server_timelines order by id');

it('a mail that a lost commit sent is unknown afterwards and is not sent again; the next one is', async () => {
  const environment = { MIGRATION_DATABASE_URL: databaseUrl(database.address), SMTP_URL: smtp.url };
  const opened = { url: databaseUrl(database.service), folder };
  for (let started = 0; started < 2; started += 1) servers.push(await startServer(opened, environment));
  const { id: organizationId } = await makeOrganization(database.ctx);
  const { secret } = await makeKey(database.ctx, organizationId, { permissions: ['write'] });
  const call = async (server: number, route: string, body?: object): Promise<Record<string, unknown>> => {
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const url = `${servers[server]?.url}${base}/organizations/${organizationId}/invitations${route}`;
    return until(async () => {
      const answer = await fetch(
        url,
        body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) },
      );
      if (answer.status === 503) return undefined;
      if (answer.status >= 300) throw new Error(`${answer.status} ${await answer.text()}`);
      return (await answer.json()) as Record<string, unknown>;
    });
  };
  const invite = async (server: number, email: string) =>
    (await call(server, '', { email, role: 'viewer' }))['id'];
  const delivery = async (server: number, id: unknown) => (await call(server, `/${id}`))['delivery'];

  smtp.refuseNext.push({ code: 451, text: 'try again later' });
  const ada = await invite(0, 'ada@example.test');
  await until(async () =>
    (await database.query("select from outgoing_mails where last_error like '%451%'")).length === 1
      ? true
      : undefined,
  );
  expect(await timelines()).toEqual([{ timeline: '00000001', lost: false }]);
  // The retry is due after the standby was cut off, and before the failover.
  await database.query("update outgoing_mails set next_attempt_at = now() + interval '5 seconds'");
  await database.startLosing();
  await until(async () => (mailTo('ada@example.test') === 1 ? true : undefined));
  await database.failOver();

  const bob = await invite(1, 'bob@example.test');
  await until(async () => (mailTo('bob@example.test') === 1 ? true : undefined));
  expect(await delivery(0, bob)).toMatchObject({ status: 'sent' });
  expect(await delivery(1, ada)).toMatchObject({
    status: 'unknown',
    error: expect.stringContaining('failed over'),
  });
  expect(mailTo('ada@example.test')).toBe(1);
  expect(await timelines()).toEqual([
    { timeline: '00000001', lost: false },
    { timeline: '00000002', lost: true },
  ]);
});
