// Operators' commands next to a running service: API keys and stuck runs.
import supertest from 'supertest';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { BadArguments, formatHelp, parseCommandArguments } from '../../src/admin/command.ts';
import { commands } from '../../src/admin/index.ts';
import { type OpenRun, whyStuck } from '../../src/admin/list-runs.ts';
import { textTable } from '../../src/admin/text-table.ts';
import { createId } from '../../src/core/id.ts';
import { moveRun, renewRunLease } from '../../src/sync/queue/runs.store.ts';
import { type Answer, createApi } from '../setup/api.ts';
import { makePerson } from '../setup/organization.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { endOpenRuns, memoryErp, type SyncFixture, syncFixture } from '../sync/fixture.ts';
import { type Operator, useOperators } from './fixture.ts';

const site = useOrganization();
const operators = useOperators(site);
let operator: Operator;
beforeAll(() => {
  operator = operators.open();
});
afterEach(() => endOpenRuns(site.database));

const runs = async ({ organizationId }: SyncFixture): Promise<object[]> =>
  ((await operator.run('list-runs')).json as Answer['body']).filter(
    (run: Answer['body']) => run.organizationId === organizationId,
  );
const age = (id: string, change: string) =>
  site.admin.raw(`update sync_runs set ${change} where id = ?`, [id]);

const leaseUntil = (id: string, time: string) =>
  site.admin.raw(
    `update jobs set due_at = ${time} where key = (select sync_config_id::text from sync_runs where id = ?)`,
    [id],
  );

describe('commands', () => {
  it('have a help text that describes every option', () => {
    expect(new Set(commands.map(({ name }) => name)).size).toBe(commands.length);
    for (const command of commands) {
      const help = formatHelp(command);
      expect(help).toContain(`npm run admin -- ${command.name}`);
      for (const [name, schema] of Object.entries(command.input.shape))
        expect(schema.description, `${command.name} ${name}`).toBeTruthy();
    }
    const issue = commands.find(({ name }) => name === 'issue-key');
    expect(issue && formatHelp(issue)).toMatch(
      /--organization <slug or id> {2,}the organization\n.*\n.*\n {2}\[--permissions <read\|write\|none>\]/,
    );
  });

  it.each([
    ['issue-key', ['--name', 'x'], /--organization <slug or id> is missing\n--user <address> is missing/],
    ['issue-key', ['--name', 'x', '--colour', 'red'], /--colour/],
    ['list-runs', ['--idle', 'soon'], /--idle <minutes>\]: must be a whole number of minutes/],
    ['list-runs', ['now'], /Unexpected argument: "now"/],
    [
      'issue-key',
      ['--organization', 'acme', '--user', 'ada', '--name', 'x'],
      /--user <address>: must be an e-mail address/,
    ],
    ['release-run', [], /<run id> is missing/],
    ['release-run', ['x'], /<run id>: must be a UUID/],
    ['finish-restore', ['--since', 'yesterday'], /--since <instant>\]: must be an RFC 3339 timestamp/],
  ])('%s %j is rejected with an explanation', (name, args, words) => {
    const command = commands.find((candidate) => candidate.name === name);
    const read = () => command && parseCommandArguments(command, args);
    expect(read).toThrow(BadArguments);
    expect(read).toThrow(words);
  });

  it('print rows as a table', () => {
    const rows = [
      { name: 'a', rows: 5 },
      { name: 'bcdef', rows: 12 },
    ];
    expect(textTable(rows)).toBe('name   rows\na         5\nbcdef    12');
    expect(textTable([])).toBe('');
  });
});

describe('sign-in-link', () => {
  it('prints a link for the owner of an organization, which is recorded', async () => {
    const { json } = await operator.run('sign-in-link', '--organization', site.slug);
    const { email, signInLink } = json as { email: string; signInLink: string };
    const { pathname, search, host } = new URL(signInLink);
    const page = await supertest(site.app)
      .get(pathname + search)
      .set({ host });
    expect(page.text).toContain(`Sign in as ${email}</button>`);
    const audited = await operators.readAudit(site.id, 'sign-in-link.create');
    expect(audited).toEqual([{ credential_kind: 'operator', changes: { email } }]);
  });

  it('is refused where others could open the link', async () => {
    const { settings } = site.ctx;
    const elsewhere = { ...settings, signIn: { byMail: false, byLink: false } };
    await expect(operators.open(undefined, elsewhere).run('sign-in-link')).rejects.toThrow(
      'OIDC_ISSUER must be empty',
    );
  });
});

describe('issue-key', () => {
  const issue = (name: string, user: string, ...more: string[]) =>
    operator.run('issue-key', '--organization', name, '--user', user, ...more);

  it("creates a key with its member's permissions, limited by its scopes", async () => {
    const { slug, id, app } = site;
    const [ada, viewer] = [await site.joinBare('owner'), await site.joinBare('viewer')];
    const made = await issue(slug, ada.email.toUpperCase(), '--name', 'Rescue', '--permissions', 'write');
    const api = createApi(app, String(made.json['secret']));
    expect((await api('get', '/whoami')).body.user.email).toBe(ada.email);
    expect((await api('post', '/teams', { name: 'Made by it' })).status).toBe(201);
    const fields = [{ name: 'number', source: 'tranid' }];
    const endpoints = [{ name: 'invoices', recordType: 'invoice', fields }];
    expect((await api('post', '/api-schema', { endpoints })).status).toBe(201);
    const narrow = ['--resources', 'invoices', '--expires', '2100-01-01T00:00:00Z'];
    const kept = await issue(id, viewer.email, '--name', 'Kept', ...narrow);
    expect((await createApi(app, String(kept.json['secret']))('get', '/teams')).status).toBe(403);
    const audited = await operators.readAudit(id, 'api-key.create');
    expect(audited).toMatchObject([
      { credential_kind: 'operator', changes: { name: 'Rescue', scopes: { permissions: ['write'] } } },
      { changes: { name: 'Kept', expiresAt: '2100-01-01T00:00:00.000Z' } },
    ]);
    expect(JSON.stringify(audited)).not.toContain(made.json['secret']);
  });

  it.each([
    ['a person who is not a member', false, [], 'eve@example.test is not a member of'],
    [
      'an unknown permission',
      true,
      ['--permissions', 'all'],
      'must be read or write, or the only entry and none',
    ],
    ['an end that is no time', true, ['--expires', 'soon'], 'must be an RFC 3339 timestamp'],
    ['an end that is past', true, ['--expires', '2001-01-01T00:00:00Z'], 'expired'],
    ['an unknown version', true, ['--versions', 'v7'], 'versions that do not exist'],
  ])('rejects %s', async (_what, isMember, options, words) => {
    await makePerson(site.ctx, 'eve@example.test');
    const user = isMember ? (await site.joinBare('owner')).email : 'eve@example.test';
    await expect(issue(site.slug, user, '--name', 'x', ...options)).rejects.toThrow(words);
  });

  it('rejects an unknown organization', async () => {
    await expect(issue('none', 'a@b.test', '--name', 'x')).rejects.toThrow('no organization none');
  });
});

it('organizations lists all organizations with their numbers of members and keys', async () => {
  const other = await site.another();
  await other.joinBare('viewer');
  const { json, text } = await operator.run('organizations');
  const counts = { members: 2, keys: 1, syncs: 0, records: null };
  expect(json).toContainEqual(expect.objectContaining({ id: other.id, ...counts }));
  expect(text).toContain(other.slug);
});

describe('list-runs', () => {
  const fine: OpenRun = {
    ...{ status: 'running', lease_owner: 'w', queued_for: 999_999, unleased_for: -10 },
    ...{ due_for: null, without_page_for: 5, behind: false },
  };
  it.each<[string, Partial<OpenRun>, RegExp | null]>([
    ['held and writing', {}, null],
    ['just started', { without_page_for: null }, null],
    ['held, but not writing', { without_page_for: 901 }, /w holds it/],
    ['lease just expired', { unleased_for: 5 }, null],
    ['lease expired long ago', { unleased_for: 61 }, /worker is gone/],
    ['publishing, lease expired long ago', { status: 'publishing', unleased_for: 61 }, /worker is gone/],
    ['waiting', { status: 'waiting', unleased_for: null, due_for: -500, without_page_for: 5_000 }, null],
    ['waiting, due for long', { status: 'waiting', unleased_for: null, due_for: 61 }, /wait is over/],
    ['queued behind another', { status: 'queued', unleased_for: null, behind: true }, null],
    ['queued, not claimed', { status: 'queued', unleased_for: null }, /no worker claims it/],
    ['queued just now', { status: 'queued', unleased_for: null, queued_for: 3 }, null],
  ])('%s', (_, change, why) => {
    const reason = whyStuck({ ...fine, ...change }, 900);
    if (why === null) expect(reason).toBeNull();
    else expect(reason).toMatch(why);
  });

  it('uses the database clock, and lists only stuck runs with --stuck', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    const id = await fixture.queue();
    expect(await runs(fixture)).toMatchObject([{ id, status: 'queued', stuck: null }]);
    await fixture.claim();
    await leaseUntil(id, "now() - interval '2 minutes'");
    const stuck = 'its worker is gone, and no other worker claims it';
    expect(await runs(fixture)).toMatchObject([{ stuck }]);
    const { json, text } = await operator.run('list-runs', '--stuck');
    expect(json).toMatchObject([{ id, worker: 'test' }]);
    expect(text).toContain('its worker is gone');
    await leaseUntil(id, "now() + interval '2 minutes'");
    expect((await operator.run('list-runs', '--stuck')).text).toBe('No run is stuck.');
  });
});

describe('release-run', () => {
  it('takes the run from its worker, which writes nothing more, and another worker resumes it', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.put(1);
    const id = await fixture.queue();
    const held = await fixture.claim();
    const released = await operator.run('release-run', id);
    expect(released.json).toEqual({ id, before: 'running', after: 'released' });
    expect(await renewRunLease(site.ctx, held, 60_000)).toMatchObject({ held: false });
    expect(await moveRun(site.ctx, held, 'failed')).toBe(false);
    expect(await fixture.drive(id)).toMatchObject({ status: 'succeeded', attempts_without_progress: 0 });
    expect(await fixture.events(id)).toContain('released by an operator');
    expect(await operators.readAudit(fixture.organizationId, 'sync-run.release')).toMatchObject([
      { credential_kind: 'operator', changes: { from: 'running' } },
    ]);
    await expect(operator.run('release-run', id)).rejects.toThrow('already ended');
    await expect(operator.run('release-run', id, '--fail')).rejects.toThrow('already ended');
    await expect(operator.run('release-run', createId())).rejects.toThrow('There is no run');
  });

  it('lets a waiting run continue at once, and rejects a queued one that no worker holds', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    const id = await fixture.queue();
    await expect(operator.run('release-run', id)).rejects.toThrow('no worker holds it');
    const lease = await fixture.claim();
    await moveRun(site.ctx, lease, 'waiting', { delayMs: 3_600_000 });
    const released = (await operator.run('release-run', id)).json;
    expect(released).toMatchObject({ before: 'waiting', after: 'released' });
    expect((await fixture.claim()).runId).toBe(id);
  });

  it('--fail ends it in the middle of reading: its staged records are deleted, and its worker stops', async () => {
    const sync = { ...site.ctx.settings.sync, pageSize: 2 };
    const settings = { ...site.ctx.settings, sync };
    const fixture = await syncFixture({ ...site.ctx, settings }, memoryErp());
    for (let id = 1; id <= 6; id += 1) fixture.erp.put(id);
    await fixture.sync();
    fixture.erp.put(7);
    const id = await fixture.queue();
    let ending: ReturnType<Operator['run']> | undefined;
    fixture.erp.onCall = async ({ operation, afterId }) => {
      if (operation === 'readPage' && afterId === '4')
        await (ending ??= operator.run('release-run', id, '--fail'));
    };
    await fixture.work(await fixture.claim());
    expect((await ending)?.json).toEqual({ id, before: 'running', after: 'failed' });
    expect(await fixture.row(id)).toMatchObject({ status: 'failed', error: { code: 'ENDED_BY_OPERATOR' } });
    expect([await fixture.staged(), (await fixture.rows()).length]).toEqual([0, 6]);
    fixture.erp.onCall = () => undefined;
    expect(await fixture.sync()).toMatchObject({ status: 'succeeded', counts: { inserted: 1 } });
  });

  it('--fail ends a queued run; a run that was already published ends with that outcome', async () => {
    const fixture = await syncFixture(site.ctx, memoryErp());
    fixture.erp.put(1);
    const queued = await fixture.queue();
    expect((await operator.run('release-run', queued, '--fail')).json).toMatchObject({ after: 'failed' });
    const { id } = await fixture.sync();
    const lost = 'finished_at = null, counts = null';
    await age(id, `status = 'publishing', ${lost}`);
    const ended = (await operator.run('release-run', id, '--fail')).json;
    expect(ended).toMatchObject({ before: 'publishing', after: 'succeeded' });
    expect(await fixture.row(id)).toMatchObject({ counts: { inserted: 1 } });
  });
});
