import { beforeAll, describe, expect, it } from 'vitest';
import { inTransaction } from '../../../src/db/transaction.ts';
import { type Answer, type Api, createApi, listCodes, pluck, refusal } from '../../setup/api.ts';
import { makeKey, makeOrganization } from '../../setup/organization.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ dns: true });

type Company = { readonly id: string; readonly api: Api; readonly domains: string };
async function company(): Promise<Company> {
  const { id } = await makeOrganization(org.ctx);
  const { secret } = await makeKey(org.ctx, id, { permissions: ['write'] });
  return { id, api: createApi(org.app, secret), domains: `/organizations/${id}/domains` };
}
let mine: Company;
let other: Company;

beforeAll(async () => {
  mine = await company();
  other = await company();
});

let hostnames = 0;
const freshName = (): string => {
  hostnames += 1;
  return `shop-${hostnames}.example`;
};
type Domain = {
  id: string;
  hostname: string;
  status: string;
  verification: { type: string; name: string; value: string };
};
async function add(who: Company, hostname = freshName()): Promise<Domain> {
  const answer = await who.api('post', who.domains, { hostname });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
}
const verify = (who: Company, { id }: { id: string }): Promise<Answer> =>
  who.api('post', `${who.domains}/${id}/verify`);
const prove = (...domains: Domain[]): void => {
  const [first] = domains;
  org.dns.set(first?.verification.name ?? '', { txt: domains.map(({ verification }) => verification.value) });
};
async function addVerified(who: Company, hostname = freshName()): Promise<Domain> {
  const domain = await add(who, hostname);
  prove(domain);
  const answer = await verify(who, domain);
  expect(answer.body.status).toBe('verified');
  return answer.body;
}
const change = (who: Company, id: string, columns: object) =>
  inTransaction({ db: org.ctx.db, organizationId: who.id }, (tx) =>
    tx('domains').where({ id }).update(columns),
  );
const readAudit = (who: Company, id: string) =>
  inTransaction({ db: org.ctx.db, organizationId: who.id }, (tx) =>
    tx('audit_log')
      .where({ target_id: id })
      .orderBy('at')
      .select<{ action: string; changes: object }[]>('action', 'changes'),
  );
const primaries = async (who: Company): Promise<string[]> =>
  pluck(
    (await who.api('get', `${who.domains}?pageSize=100`)).body.data.filter(
      (domain: { isPrimary: boolean }) => domain.isPrimary,
    ),
    'id',
  );

describe('POST /organizations/{id}/domains', () => {
  it('201 with the record to set', async () => {
    const answer = await mine.api('post', mine.domains, { hostname: ' Müller.Example. ' });
    expect(answer.status).toBe(201);
    expect(answer.body).toEqual({
      id: expect.any(String),
      hostname: 'xn--mller-kva.example',
      status: 'pending',
      verification: {
        type: 'TXT',
        name: '_portal-challenge.xn--mller-kva.example',
        value: expect.stringMatching(/^portal-verification=[0-9a-f]{32}$/),
      },
      isPrimary: false,
      verifiedAt: null,
      lastCheckedAt: null,
      lastError: null,
      createdAt: expect.any(String),
    });
    expect(await readAudit(mine, answer.body.id)).toEqual([
      { action: 'domain.create', changes: { hostname: 'xn--mller-kva.example' } },
    ]);
  });

  it.each([
    ['co.uk', 'public_suffix'],
    ['127.0.0.1', 'ip_address'],
    ['https://acme.example', 'not_a_hostname'],
    ['x.local', 'not_public'],
  ])('422 for %s', async (hostname, code) => {
    const answer = await mine.api('post', mine.domains, { hostname });
    expect([answer.status, listCodes(answer), answer.body.error.details[0].path]).toEqual([
      422,
      [code],
      'hostname',
    ]);
  });

  it('422 when the organization has the hostname, in any spelling and for concurrent requests', async () => {
    const { hostname } = await add(mine);
    expect(await refusal(mine.api('post', mine.domains, { hostname: `${hostname.toUpperCase()}.` }))).toEqual(
      [422, 'duplicate'],
    );
    const name = freshName();
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => mine.api('post', mine.domains, { hostname: name })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
  });

  it('does not reveal whether another organization has the hostname, pending or verified', async () => {
    const [pending, verified] = [await add(other), await addVerified(other)];
    for (const { hostname } of [pending, verified]) {
      const own = await add(mine, hostname);
      const unknown = await add(mine);
      const shape = ({ id, hostname: name, verification, ...rest }: Domain) => ({ ...rest, createdAt: '' });
      expect(shape(own)).toEqual(shape(unknown));
    }
  });
});

it('GET /organizations/{id}/domains finds by part of the hostname in any script and by status, newest first', async () => {
  const lister = await company();
  const a = await add(lister, 'Zebra-One.example');
  const b = await addVerified(lister, 'zebra-two.example');
  const c = await add(lister, 'köln.example');
  const ids = async (query: string) =>
    pluck((await lister.api('get', `${lister.domains}?${query}`)).body.data, 'id');
  expect(await ids('')).toEqual([c.id, b.id, a.id]);
  expect(await ids('q=ZEBRA')).toEqual([b.id, a.id]);
  expect(await ids('q=zebra&pageSize=1&page=2')).toEqual([a.id]);
  expect(await ids('q=%25')).toEqual([]);
  expect(await ids(`q=${encodeURIComponent('KÖLN.example')}`)).toEqual([c.id]);
  expect(await ids('status=verified')).toEqual([b.id]);
});

describe('PATCH /organizations/{id}/domains/{domainId}', () => {
  it('makes a verified domain primary, replacing the former one', async () => {
    const [a, b] = [await addVerified(mine), await addVerified(mine)];
    expect((await mine.api('patch', `${mine.domains}/${a.id}`, { isPrimary: true })).body.isPrimary).toBe(
      true,
    );
    expect((await mine.api('patch', `${mine.domains}/${b.id}`, { isPrimary: true })).body.isPrimary).toBe(
      true,
    );
    expect(await primaries(mine)).toEqual([b.id]);
    expect((await readAudit(mine, b.id)).at(-1)).toEqual({
      action: 'domain.update',
      changes: { isPrimary: true, formerPrimary: a.hostname },
    });
    await mine.api('patch', `${mine.domains}/${a.id}`, { isPrimary: false });
    await mine.api('patch', `${mine.domains}/${b.id}`, {});
    expect(await primaries(mine)).toEqual([b.id]);
    await mine.api('patch', `${mine.domains}/${b.id}`, { isPrimary: false });
    expect(await primaries(mine)).toEqual([]);
  });

  it('leaves one primary domain after concurrent requests', async () => {
    const racer = await company();
    const domains = await Promise.all([1, 2, 3, 4].map(() => addVerified(racer)));
    const answers = await Promise.all(
      domains.map(({ id }) => racer.api('patch', `${racer.domains}/${id}`, { isPrimary: true })),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await primaries(racer)).toHaveLength(1);
  });

  it('422 for a domain that is not verified', async () => {
    const domain = await add(mine);
    expect(await refusal(mine.api('patch', `${mine.domains}/${domain.id}`, { isPrimary: true }))).toEqual([
      422,
      'not_verified',
    ]);
    expect((await mine.api('patch', `${mine.domains}/${domain.id}`, { isPrimary: false })).status).toBe(200);
    await expect(change(mine, domain.id, { is_primary: true })).rejects.toThrow(/primary_domain_is_verified/);
  });
});

it('DELETE /organizations/{id}/domains/{domainId}: 204, also for the primary domain; other organizations can then verify the hostname', async () => {
  const domain = await addVerified(mine);
  await mine.api('patch', `${mine.domains}/${domain.id}`, { isPrimary: true });
  const answers = await Promise.all([1, 2].map(() => mine.api('delete', `${mine.domains}/${domain.id}`)));
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 404]);
  expect((await mine.api('get', `${mine.domains}/${domain.id}`)).status).toBe(404);
  expect((await readAudit(mine, domain.id)).filter(({ action }) => action === 'domain.delete')).toEqual([
    {
      action: 'domain.delete',
      changes: { hostname: domain.hostname, status: 'verified', isPrimary: true },
    },
  ]);
  const theirs = await addVerified(other, domain.hostname);
  expect(theirs.verification.value).not.toBe(domain.verification.value);
});

describe('POST /organizations/{id}/domains/{domainId}/verify', () => {
  it('200 verified when the record exists, with or without other TXT records', async () => {
    const domain = await add(mine, `UPPER-${freshName()}`);
    org.dns.set(domain.verification.name, {
      txt: ['v=spf1 -all', [domain.verification.value.slice(0, 9), `${domain.verification.value.slice(9)} `]],
    });
    const answer = await verify(mine, domain);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      status: 'verified',
      verifiedAt: expect.any(String),
      lastCheckedAt: expect.any(String),
      lastError: null,
    });
    expect((await readAudit(mine, domain.id)).at(-1)).toEqual({
      action: 'domain.verify',
      changes: { hostname: domain.hostname, status: 'verified', lastError: null },
    });
  });

  it('200 pending with what was found instead', async () => {
    const domain = await add(mine);
    const { name, value } = domain.verification;
    const unrelated = await add(mine);
    const found = async () => {
      const { status, body } = await verify(mine, domain);
      return [status, body.status, body.lastError, typeof body.lastCheckedAt, body.verifiedAt];
    };
    const pending = (lastError: string) => [200, 'pending', lastError, 'string', null];
    expect(await found()).toEqual(pending(`There is no TXT record at ${name}`));
    org.dns.set(name, 'nodata');
    expect(await found()).toEqual(pending(`There is no TXT record at ${name}`));
    for (const wrong of [
      unrelated.verification.value,
      value.toUpperCase(),
      value.slice(0, -1),
      `${value}0`,
      `x${value}`,
      '',
    ]) {
      org.dns.set(name, { txt: [wrong] });
      expect(await found()).toEqual(pending(`The TXT record at ${name} has another value`));
    }
    org.dns.set(name, { txt: ['a', 'b'] });
    expect(await found()).toEqual(pending(`None of the 2 TXT records at ${name} has the expected value`));
    org.dns.set(name, 'servfail');
    expect(await found()).toEqual(pending(`The DNS lookup of ${name} failed: SERVFAIL`));
    org.dns.set(domain.hostname, { txt: [value] });
    org.dns.set(name, 'nxdomain');
    expect((await found())[1]).toBe('pending');
    prove(domain);
    expect(await found()).toEqual([200, 'verified', null, 'string', expect.any(String)]);
  });

  it('keeps a verified domain and its time of verification, and reports that the record is missing', async () => {
    const domain = await addVerified(mine);
    await change(mine, domain.id, { verified_at: '2026-01-01T00:00:00Z' });
    expect((await verify(mine, domain)).body).toMatchObject({
      status: 'verified',
      verifiedAt: '2026-01-01T00:00:00Z',
      lastError: null,
    });
    org.dns.set(domain.verification.name, 'nxdomain');
    expect((await verify(mine, domain)).body).toMatchObject({
      status: 'verified',
      verifiedAt: '2026-01-01T00:00:00Z',
      lastError: expect.stringContaining('no TXT record'),
    });
  });

  it('fails a domain after a week, and can still verify it on request', async () => {
    const domain = await add(mine);
    await change(mine, domain.id, { created_at: new Date(Date.now() - 7 * 86_400_000 + 60_000) });
    expect((await verify(mine, domain)).body.status).toBe('pending');
    await change(mine, domain.id, { created_at: new Date(Date.now() - 7 * 86_400_000 - 60_000) });
    expect((await verify(mine, domain)).body).toMatchObject({
      status: 'failed',
      lastError: expect.stringContaining('no TXT record'),
    });
    expect((await verify(mine, domain)).body.status).toBe('failed');
    prove(domain);
    expect((await verify(mine, domain)).body).toMatchObject({ status: 'verified', lastError: null });
  });

  it('fails when another organization has verified the hostname, which is revealed only after proving control', async () => {
    const theirs = await addVerified(other);
    const own = await add(mine, theirs.hostname);
    expect((await verify(mine, own)).body).toMatchObject({
      status: 'pending',
      lastError: expect.stringContaining('has another value'),
    });
    prove(theirs, own);
    const taken = {
      status: 'failed',
      verifiedAt: null,
      lastError: 'Another organization has verified this hostname',
    };
    expect((await verify(mine, own)).body).toMatchObject(taken);
    expect((await verify(mine, own)).body).toMatchObject(taken);
    expect((await readAudit(mine, own.id)).at(-1)?.changes).toEqual({
      hostname: own.hostname,
      status: 'failed',
      lastError: 'Another organization has verified this hostname',
    });
    await other.api('delete', `${other.domains}/${theirs.id}`);
    expect((await verify(mine, own)).body.status).toBe('verified');
  });

  it('lets exactly one of several organizations verify a hostname concurrently', async () => {
    const companies = [mine, other, await company(), await company()];
    for (let round = 0; round < 5; round += 1) {
      const hostname = freshName();
      const domains = await Promise.all(companies.map((who) => add(who, hostname)));
      prove(...domains);
      const answers = await Promise.all(
        companies.flatMap((who, index) => [
          verify(who, domains[index] as Domain),
          verify(who, domains[index] as Domain),
        ]),
      );
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
      const statuses = await Promise.all(
        companies.map(
          async (who, index) => (await who.api('get', `${who.domains}/${domains[index]?.id}`)).body.status,
        ),
      );
      expect(statuses.sort()).toEqual(['failed', 'failed', 'failed', 'verified']);
    }
  });

  it('404 when the domain is deleted during the DNS lookup', async () => {
    const domain = await add(mine);
    const removed: Promise<Answer>[] = [];
    org.dns.onAsked(async (name) => {
      if (name !== domain.verification.name) return;
      // A late response makes the resolver ask a second time.
      if (removed.length === 0) removed.push(mine.api('delete', `${mine.domains}/${domain.id}`));
      await removed[0];
    });
    const answer = await verify(mine, domain);
    expect((await removed[0])?.status).toBe(204);
    expect([answer.status, answer.body.error.message]).toEqual([404, 'Domain not found']);
  });

  it('holds no database connection during the DNS lookup', async () => {
    const domain = await add(mine);
    const open = async (): Promise<number | undefined> => {
      const { rows } = await org.ctx.db.control.raw<{ rows: { open: number }[] }>(
        "select count(*)::int as open from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
      );
      return rows[0]?.open;
    };
    // The time of last use of a key is written next to the request now and then, and ends by itself. Work
    // that waits for the DNS ends when the lookup is given up.
    org.dns.onAsked(async (name) => {
      if (name === domain.verification.name) await until(async () => (await open()) === 0);
    });
    prove(domain);
    expect((await verify(mine, domain)).body.status).toBe('verified');
  });
});
