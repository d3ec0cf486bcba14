import { beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { type Answer, type Api, createApi, listProblems, pluck, refusal } from '../../setup/api.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ dns: true });

type Company = {
  readonly id: string;
  readonly api: Api;
  readonly secret: string;
  readonly domains: string;
};
async function company(): Promise<Company> {
  const { id, api, at, owner } = await org.another();
  return { id, api, secret: owner.secret, domains: `${at}/domains` };
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
const change = (id: string, columns: object) => org.admin('domains').where({ id }).update(columns);
const setPrimary = (who: Company, id: string, isPrimary = true) =>
  who.api('patch', `${who.domains}/${id}`, { isPrimary });
const readAudit = (id: string) =>
  org
    .admin('audit_log')
    .where({ target_id: id })
    .orderBy('at')
    .select<{ action: string; changes: object }[]>('action', 'changes');
const primaries = async (who: Company): Promise<string[]> => {
  const { data } = (await who.api('get', `${who.domains}?pageSize=100`)).body;
  return data.flatMap(({ id, isPrimary }: Answer['body']) => (isPrimary ? [id] : []));
};
const shortOf = (days: number, ms: number) => new Date(Date.now() - days * 86_400_000 + ms);

describe('POST /organizations/{id}/domains', () => {
  it('201 with the record to set', async () => {
    const answer = await mine.api('post', mine.domains, { hostname: ' Müller.Example. ' });
    const hostname = 'xn--mller-kva.example';
    const value = expect.stringMatching(/^portal-verification=[0-9a-f]{32}$/);
    expect([answer.status, answer.body]).toEqual([
      201,
      {
        ...{ id: expect.any(String), hostname, status: 'pending', isPrimary: false },
        verification: { type: 'TXT', name: `_portal-challenge.${hostname}`, value },
        ...{ verifiedAt: null, lastCheckedAt: null, lastError: null, missingSince: null },
        createdAt: expect.any(String),
      },
    ]);
    expect(await readAudit(answer.body.id)).toEqual([{ action: 'domain.create', changes: { hostname } }]);
  });

  it.each([
    ['co.uk', 'public_suffix'],
    ['127.0.0.1', 'ip_address'],
    ['https://acme.example', 'not_a_hostname'],
    ['x.local', 'not_public'],
  ])('422 for %s', async (hostname, code) => {
    const answer = await mine.api('post', mine.domains, { hostname });
    expect([answer.status, ...listProblems(answer)]).toEqual([422, `hostname ${code}`]);
  });

  it('422 when the organization has the hostname, in any spelling and for concurrent requests', async () => {
    const { hostname } = await add(mine);
    const again = mine.api('post', mine.domains, { hostname: `${hostname.toUpperCase()}.` });
    expect(await refusal(again)).toEqual([422, 'duplicate']);
    const name = freshName();
    const answers = await Promise.all(
      [1, 2, 3, 4].map(() => mine.api('post', mine.domains, { hostname: name })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 422, 422, 422]);
  });

  it('422 for the host of PUBLIC_URL, which is not verified either', async () => {
    const early = await addVerified(mine, 'portal.own.example');
    const late = await add(mine, 'late.own.example');
    prove(late);
    for (const { id, hostname } of [early, late]) {
      const settings = { ...org.ctx.settings, publicUrl: `https://${hostname}:8443` };
      const asOwn = createApi(createApp({ ...org.ctx, settings }), mine.secret);
      const again = asOwn('post', mine.domains, { hostname: `${hostname.toUpperCase()}.` });
      expect(await refusal(again)).toEqual([422, 'own_host']);
      const lastError = 'This is the hostname of the service itself';
      const checked = await asOwn('post', `${mine.domains}/${id}/verify`);
      expect(checked.body).toMatchObject({ status: 'failed', lastError, verifiedAt: null });
      expect((await asOwn('post', mine.domains, { hostname: `www.${hostname}` })).status).toBe(201);
    }
  });

  it('does not reveal whether another organization has the hostname, pending or verified', async () => {
    const shape = ({ id, hostname, verification, ...rest }: Domain) => ({ ...rest, createdAt: '' });
    for (const { hostname } of [await add(other), await addVerified(other)])
      expect(shape(await add(mine, hostname))).toEqual(shape(await add(mine)));
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
    for (const { id } of [a, b]) expect((await setPrimary(mine, id)).body.isPrimary).toBe(true);
    expect(await primaries(mine)).toEqual([b.id]);
    const changes = { isPrimary: true, formerPrimary: a.hostname };
    expect((await readAudit(b.id)).at(-1)).toEqual({ action: 'domain.update', changes });
    await setPrimary(mine, a.id, false);
    await mine.api('patch', `${mine.domains}/${b.id}`, {});
    expect(await primaries(mine)).toEqual([b.id]);
    await setPrimary(mine, b.id, false);
    expect(await primaries(mine)).toEqual([]);
  });

  it('leaves one primary domain after concurrent requests', async () => {
    const racer = await company();
    const domains = await Promise.all([1, 2, 3, 4].map(() => addVerified(racer)));
    const answers = await Promise.all(domains.map(({ id }) => setPrimary(racer, id)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(await primaries(racer)).toHaveLength(1);
  });

  it('422 for a domain that is not verified', async () => {
    const { id } = await add(mine);
    expect(await refusal(setPrimary(mine, id))).toEqual([422, 'not_verified']);
    expect((await setPrimary(mine, id, false)).status).toBe(200);
    await expect(change(id, { is_primary: true })).rejects.toThrow(/primary_domain_is_verified/);
  });
});

it('DELETE /organizations/{id}/domains/{domainId}: 204, also for the primary domain; other organizations can then verify the hostname', async () => {
  const { id, hostname, verification } = await addVerified(mine);
  await setPrimary(mine, id);
  const answers = await Promise.all([1, 2].map(() => mine.api('delete', `${mine.domains}/${id}`)));
  expect(answers.map(({ status }) => status).sort()).toEqual([204, 404]);
  expect((await mine.api('get', `${mine.domains}/${id}`)).status).toBe(404);
  const changes = { hostname, status: 'verified', isPrimary: true };
  const deletions = (await readAudit(id)).filter(({ action }) => action === 'domain.delete');
  expect(deletions).toEqual([{ action: 'domain.delete', changes }]);
  const theirs = await addVerified(other, hostname);
  expect(theirs.verification.value).not.toBe(verification.value);
});

describe('POST /organizations/{id}/domains/{domainId}/verify', () => {
  it('200 verified when the record exists, with or without other TXT records', async () => {
    const { id, hostname, verification } = await add(mine, `UPPER-${freshName()}`);
    const halves = [verification.value.slice(0, 9), `${verification.value.slice(9)} `];
    org.dns.set(verification.name, { txt: ['v=spf1 -all', halves] });
    const [verifiedAt, lastCheckedAt] = [expect.any(String), expect.any(String)];
    expect(await verify(mine, { id })).toMatchObject({
      status: 200,
      body: { status: 'verified', verifiedAt, lastCheckedAt, lastError: null },
    });
    const changes = { hostname, status: 'verified', lastError: null };
    expect((await readAudit(id)).at(-1)).toEqual({ action: 'domain.verify', changes });
  });

  it('200 pending with what was found instead', async () => {
    const domain = await add(mine);
    const { name, value } = domain.verification;
    const unrelated = (await add(mine)).verification.value;
    const found = async () => {
      const { status, body } = await verify(mine, domain);
      return [status, body.status, body.lastError, typeof body.lastCheckedAt, body.verifiedAt];
    };
    const pending = (lastError: string) => [200, 'pending', lastError, 'string', null];
    expect(await found()).toEqual(pending(`There is no TXT record at ${name}`));
    org.dns.set(name, 'nodata');
    expect(await found()).toEqual(pending(`There is no TXT record at ${name}`));
    const cut = [value.toUpperCase(), value.slice(0, -1), `${value}0`, `x${value}`];
    for (const wrong of [unrelated, ...cut, '']) {
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
    const verifiedAt = '2026-01-01T00:00:00Z';
    await change(domain.id, { verified_at: verifiedAt });
    const kept = { status: 'verified', verifiedAt };
    expect((await verify(mine, domain)).body).toMatchObject({ ...kept, lastError: null });
    org.dns.set(domain.verification.name, 'nxdomain');
    const lastError = expect.stringContaining('no TXT record');
    const missingSince = expect.any(String);
    expect((await verify(mine, domain)).body).toMatchObject({ ...kept, lastError, missingSince });
  });

  it('fails a domain after a week, and can still verify it on request', async () => {
    const domain = await add(mine);
    await change(domain.id, { created_at: shortOf(7, 60_000) });
    expect((await verify(mine, domain)).body.status).toBe('pending');
    await change(domain.id, { created_at: shortOf(7, -60_000) });
    const lastError = expect.stringContaining('no TXT record');
    expect((await verify(mine, domain)).body).toMatchObject({ status: 'failed', lastError });
    expect((await verify(mine, domain)).body.status).toBe('failed');
    prove(domain);
    expect((await verify(mine, domain)).body).toMatchObject({ status: 'verified', lastError: null });
  });

  it('fails when another organization has verified the hostname, which is revealed only after proving control', async () => {
    const theirs = await addVerified(other);
    const own = await add(mine, theirs.hostname);
    const lastError = expect.stringContaining('has another value');
    expect((await verify(mine, own)).body).toMatchObject({ status: 'pending', lastError });
    prove(theirs, own);
    const taken = { status: 'failed', lastError: 'Another organization has verified this hostname' };
    for (let time = 0; time < 2; time += 1)
      expect((await verify(mine, own)).body).toMatchObject({ ...taken, verifiedAt: null });
    expect((await readAudit(own.id)).at(-1)?.changes).toEqual({ hostname: own.hostname, ...taken });
    await other.api('delete', `${other.domains}/${theirs.id}`);
    expect((await verify(mine, own)).body.status).toBe('verified');
  });

  it('lets exactly one of several organizations verify a hostname concurrently', async () => {
    const companies = [mine, other, await company(), await company()];
    for (let round = 0; round < 5; round += 1) {
      const hostname = freshName();
      const domains = await Promise.all(companies.map((who) => add(who, hostname)));
      prove(...domains);
      const both = companies.flatMap((who, index) => [1, 2].map(() => verify(who, domains[index] as Domain)));
      for (const { status } of await Promise.all(both)) expect(status).toBe(200);
      const statuses = await Promise.all(
        companies.map(
          async (who, at) => (await who.api('get', `${who.domains}/${domains[at]?.id}`)).body.status,
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
    expect(await verify(mine, domain)).toMatchObject({
      status: 404,
      body: { error: { message: 'Domain not found' } },
    });
    expect((await removed[0])?.status).toBe(204);
  });

  it('holds no database connection during the DNS lookup', async () => {
    const domain = await add(mine);
    const open = async (): Promise<number> => {
      const { rows } = await org.admin.raw(
        "select from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
      );
      return rows.length;
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
