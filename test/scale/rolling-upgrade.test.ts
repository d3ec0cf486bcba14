// A deployment as an operator does it: new processes start next to those of the version before, which then
// end, all under load. No request fails, no answer is wrong, and what must happen once happens once.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCommand, type ServingProcess, useOpsDatabase } from '../ops/server-process.ts';
import { type Company, connectCompany, makeCompany, publish, sync, useErpSite } from '../ops/site.ts';
import { describeIf } from '../setup/describe-if.ts';
import { type MailServer, startMailServer } from '../setup/smtp.ts';
import { until } from '../setup/until.ts';
import { reasonAgainst, unpackCommit } from './harness/earlier-version.ts';
import { type RollingLoad, startRollingLoad } from './harness/rolling-load.ts';

/** The version before: the last commit whose background work has no table `jobs`. */
const before = 'e3fed589';

describeIf(`a rolling upgrade from ${before}`, await reasonAgainst(before), () => {
  let old: Awaited<ReturnType<typeof unpackCommit>>;
  const site = useErpSite();
  const database = useOpsDatabase(null);
  let mails: MailServer;
  let company: Company;
  let load: RollingLoad;
  let version: string;
  let environment: Record<string, string>;
  const inService: ServingProcess[] = [];
  const all: ServingProcess[] = [];
  let [turn, changes] = [0, 0];

  const start = async (root?: string): Promise<ServingProcess> => {
    const started = await database.start(environment, root);
    all.push(started);
    inService.push(started);
    return started;
  };
  /**
   * As a deployment does it: the proxy sends it nothing more, then it gets SIGTERM and ends what it has
   * begun. What was sent before is answered first: a request that meets the end of an idle connection is
   * reset, and a proxy would send it again.
   */
  const end = async (server: ServingProcess): Promise<void> => {
    inService.splice(inService.indexOf(server), 1);
    await load.passed(1);
    expect(await server.stop()).toBe(0);
  };
  const pick = (): string => {
    turn += 1;
    return inService[turn % inService.length]?.url ?? '';
  };
  /** By the version before, whose tables this one must find. */
  const makeOrganizationBefore = async (): Promise<{ id: string; ownerId: string }> => {
    const args = ['admin', 'create-organization', '--name', 'Acme', '--owner-email', 'owner@example.test'];
    expect(await runCommand(database, args, environment, old.root)).toMatchObject({ code: 0 });
    const [made] = await database.query<{ id: string; ownerId: string }>(
      'select organization_id as id, user_id as "ownerId" from memberships',
    );
    if (made === undefined) throw new Error('no organization was made');
    return made;
  };
  const migrations = async (): Promise<number> =>
    (await database.query('select from knex_migrations')).length;

  beforeAll(async () => {
    [old, mails] = await Promise.all([unpackCommit(before), startMailServer()]);
    const pools = { CONTROL_POOL_SIZE: '4', DATA_POOL_SIZE: '4' };
    environment = { ...site.environment, ...pools, SMTP_URL: mails.url, RATE_LIMIT_PER_MINUTE: '100000' };
    await start(old.root);
    await start(old.root);
    company = await makeCompany(database.address, await makeOrganizationBefore());
    const configs = await connectCompany(company, pick(), site);
    for (const id of configs.values())
      expect(await sync(company, pick(), id)).toMatchObject({ status: 'succeeded' });
    version = await publish(company, pick());
    const roles = await company.call(pick(), 'get', `/organizations/${company.id}/roles`);
    const customers = configs.get('customer') ?? '';
    const roleId = roles.body.data.find(({ name }: { name: string }) => name === 'viewer').id;
    const change = async () => {
      changes += 1;
      await site.change(
        `update ledger.customer set phone = '0161 ${changes}', lastmodifieddate = now() where id in (select id from ledger.customer order by id limit ${1 + (changes % 9)})`,
      );
    };
    load = startRollingLoad({ company, version, customers, roleId, pick, change });
  });
  afterAll(async () => {
    await company?.close();
    await Promise.all([mails?.close(), ...all.map((server) => server.kill())]);
    await old?.remove();
  });

  it('fails no request and gives no wrong answer', async () => {
    const [first, second] = [...inService];
    await load.passed(2);
    const migrated = await migrations();
    await start();
    expect(await migrations()).toBeGreaterThan(migrated);
    // The old processes serve the new database, next to a new one.
    await load.passed(3);
    if (first !== undefined) await end(first);
    await start();
    await load.passed(2);
    if (second !== undefined) await end(second);
    await load.passed(3);
    expect(await load.stop()).toEqual([]);
    expect(load.notModified).toBeGreaterThan(0);
    // A version whose libraries differ is installed without those that build its pages.
    const known = /\nTo sign in as .*:\n.*\n\n|^The \w+ is not built, because Vite .*\n/gm;
    for (const { output } of all) expect(output().stderr.replaceAll(known, '').trim()).toBe('');
    console.log(
      `rolling upgrade from ${before}: ${load.answers} answers, ${load.notModified} of them 304, ${load.tags} entity tags, ${load.runs} runs, ` +
        `${load.teams.length} teams, ${load.invited.length} mails; 0 wrong, 0 errors`,
    );
  });

  it('leaves a follower of changes with what the list has', async () => {
    // Each process may be a second behind the other.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    await load.follow();
    const { body } = await company.read(pick(), `/${version}/customer?pageSize=1000`);
    expect(body.pagination.total).toBe(load.copy.size);
    expect(Object.fromEntries(load.copy)).toEqual(
      Object.fromEntries(body.data.map((record: { id: string }) => [record.id, record])),
    );
  });

  it('has made each team once and sent each mail once', async () => {
    const teams = await database.query<{ name: string }>("select name from teams where name like 'team %'");
    expect(teams.map(({ name }) => name).toSorted()).toEqual(load.teams.toSorted());
    await until(
      async () => (await database.query("select from outgoing_mails where status <> 'sent'")).length === 0,
    );
    expect(mails.delivered.flatMap(({ to }) => to).toSorted()).toEqual(load.invited.toSorted());
  });
});
