// Signing in with a mailed code: who gets one, that it works once and in one browser, and that neither guessing
// nor asking often helps an attacker, or locks the person out.
import type { Express } from 'express';
import supertest from 'supertest';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import type { Ctx } from '../../src/core/ctx.ts';
import { useOrganization } from '../setup/use-organization.ts';

const publicUrl = 'http://127.0.0.1';
const lines: string[] = [];
let nowMs = 0;
const org = useOrganization({
  mail: true,
  lines,
  settings: { signIn: { byMail: true, byLink: false } },
  alter: (ctx) => ({
    ...ctx,
    clock: {
      now: () => new Date(ctx.clock.now().getTime() + nowMs),
      monotonicMs: () => ctx.clock.monotonicMs(),
    },
  }),
});
beforeEach(async () => {
  nowMs = 0;
  await org.admin('rate_limits').delete();
});
afterEach(() => org.ctx.work.waitUntilIdle('code-mails'));

const openBrowser = (app: Express = org.app) => {
  const agent = supertest.agent(app);
  const post = (path: string, form: object, headers: Record<string, string> = {}) =>
    agent
      .post(path)
      .type('form')
      .set({ origin: publicUrl, accept: 'text/html', ...headers })
      .send(form);
  return {
    agent,
    ask: (email: string, more: object = {}, headers = {}) => post('/auth/mail', { email, ...more }, headers),
    type: (code: string, headers = {}) => post('/auth/code', { code }, headers),
    whoami: async () => (await agent.get('/auth/session')).body.session?.user.email,
  };
};
type Browser = ReturnType<typeof openBrowser>;

/** The code of the next mail, which must go to this address. */
async function codeFor(address: string): Promise<string> {
  await org.ctx.work.waitUntilIdle('code-mails');
  const delivered = org.mails.delivered.pop();
  expect(delivered?.to).toEqual([address]);
  return /^\d{3} \d{3}$/m.exec(delivered?.mail.text ?? '')?.[0] ?? '';
}
async function askAs(browser: Browser, address: string): Promise<string> {
  await browser.ask(address).expect(303);
  return codeFor(address);
}
const wrong = (code: string): string =>
  String((Number(code.replace(' ', '')) + 1) % 1_000_000).padStart(6, '0');
const problemOf = ({ status, text }: supertest.Response): [number, string] => [
  status,
  /role="alert">([^<]*)</.exec(text)?.[1] ?? '',
];
let count = 0;
/** A member that no other test uses. */
const newMember = async (): Promise<string> => {
  count += 1;
  return (await org.joinBare('viewer')).email;
};

describe('a member', () => {
  it('gets six digits by mail and signs in with them', async () => {
    const email = await newMember();
    const browser = openBrowser();
    const page = await browser.agent.get('/auth/login?returnTo=/console/runs').set('accept', 'text/html');
    expect(page.text).toContain('name="returnTo" value="/console/runs"');
    const asked = await browser.ask(
      ` ${email.toUpperCase()} `,
      { returnTo: '/console/runs?a=1' },
      { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0 <b>' },
    );
    expect([asked.status, asked.headers['location']]).toEqual([303, '/auth/code']);
    await org.ctx.work.waitUntilIdle('code-mails');
    const { mail } = org.mails.delivered.at(-1) ?? {};
    expect(mail?.subject).toBe('Your code to sign in to 127.0.0.1');
    expect(mail?.text).toMatch(/Requested on \d+ \w+ \d{4} at \d\d:\d\d UTC with Firefox on Linux\./);
    const link = new URL(/http:\S+\/auth\/code\S+/.exec(mail?.text ?? '')?.[0] ?? '');
    expect((await browser.agent.get(link.pathname + link.search)).text).toContain(`If ${email} may sign in`);
    const code = await codeFor(email);
    expect(mail?.html).toContain(code);
    const done = await browser.type(code);
    expect([done.status, done.headers['location']]).toEqual([303, `${publicUrl}/console/runs?a=1`]);
    expect(await browser.whoami()).toBe(email);
    const audited = await org.sql((tx) =>
      tx('audit_log').where({ action: 'session.start', actor_email: email }).select('id'),
    );
    expect(audited).toHaveLength(1);
    expect(lines.join('')).not.toContain(code.replace(' ', ''));
  });

  it('signs out', async () => {
    const email = await newMember();
    const browser = openBrowser();
    await browser.type(await askAs(browser, email));
    const out = await browser.agent.post('/auth/logout').set({ origin: publicUrl, accept: 'text/html' });
    expect([out.status, out.headers['location'], await browser.whoami()]).toEqual([303, '/', undefined]);
  });

  it('can type spaces and hyphens', async () => {
    const browser = openBrowser();
    const code = (await askAs(browser, await newMember())).replace(' ', '-');
    await browser.type(` ${code} `).expect(303);
  });
});

it('someone invited gets a code at the address of the invitation, and becomes a user', async () => {
  const email = `invited-${count}@acme.example`;
  await org.api('post', `${org.at}/invitations`, { email, roleId: org.role('viewer') });
  const browser = openBrowser();
  const code = await askAs(browser, email);
  expect(await org.admin('users').where({ email })).toEqual([]);
  await browser.type(code).expect(303);
  expect(await browser.whoami()).toBe(email);
});

describe('an address without an account', () => {
  it('gets the same response as one with an account, and no mail', async () => {
    const known = await openBrowser().ask(await newMember());
    await org.ctx.work.waitUntilIdle('code-mails');
    const before = org.mails.delivered.length;
    const unknown = await openBrowser().ask('stranger@acme.example');
    const comparable = ({ status, headers, text }: supertest.Response) => {
      const { date: _date, 'x-request-id': _id, 'set-cookie': cookies, ...rest } = headers;
      return {
        status,
        text,
        rest,
        cookies: String(cookies)
          .replace(/=[^;]+/, '=')
          .replace(/Expires=[^;]+/, ''),
      };
    };
    expect(comparable(unknown)).toEqual(comparable(known));
    await org.ctx.work.waitUntilIdle('code-mails');
    expect(org.mails.delivered).toHaveLength(before);
  });

  it.each([
    ['a letter that looks alike', (local: string) => local.replace('p', '\u0440')],
    ['the sign for kelvin instead of a k', (local: string) => `${local}\u212a`],
    ['a dotless i', (local: string) => local.replace('i', '\u0131')],
  ])('is not one of a member: %s', async (_title, change) => {
    await org
      .admin('users')
      .insert({ id: crypto.randomUUID(), email: `pink${(count += 1)}k@acme.example`, name: 'P' });
    const before = org.mails.delivered.length;
    const response = await openBrowser().ask(`${change(`pink${count}`)}@acme.example`);
    expect([303, 422]).toContain(response.status);
    await org.ctx.work.waitUntilIdle('code-mails');
    expect(org.mails.delivered).toHaveLength(before);
  });

  it.each([
    '',
    'no address',
    'a@b',
    `${'a'.repeat(250)}@acme.example`,
    'a@acme.example\r\nBcc: b@evil.example',
  ])('%j is refused in the form', async (email) => {
    const response = await openBrowser().ask(email);
    expect(response.status).toBe(422);
    expect(problemOf(response)[1]).not.toBe('');
  });
});

describe('a code', () => {
  it('works once, also when it is typed twice at the same time', async () => {
    const browser = openBrowser();
    const asked = await browser.ask(await newMember());
    const cookie = String(asked.get('Set-Cookie')?.[0]).split(';')[0] ?? '';
    await org.ctx.work.waitUntilIdle('code-mails');
    const code = /^\d{3} \d{3}$/m.exec(org.mails.delivered.at(-1)?.mail.text ?? '')?.[0] ?? '';
    const send = () =>
      supertest(org.app).post('/auth/code').type('form').set({ origin: publicUrl, cookie }).send({ code });
    const statuses = (await Promise.all([send(), send(), send()])).map(({ status }) => status);
    expect(statuses.sort()).toEqual([303, 400, 400]);
  });

  it('works in the browser that asked for it alone; elsewhere its link says so', async () => {
    const email = await newMember();
    const [asking, other] = [openBrowser(), openBrowser()];
    const code = await askAs(asking, email);
    expect(problemOf(await other.type(code))[0]).toBe(400);
    await other.ask('someone-else@acme.example');
    expect(problemOf(await other.type(code))).toEqual([
      400,
      'This is not the code. Check the latest mail. 4 tries left.',
    ]);
    const request = crypto.randomUUID();
    const page = await other.agent.get(`/auth/code?request=${request}`).set('accept', 'text/html');
    expect(page.text).toContain('Return to the other browser');
    expect(page.text).not.toContain('<form');
    expect(await other.whoami()).toBeUndefined();
  });

  it('ends after ten minutes', async () => {
    const browser = openBrowser();
    const code = await askAs(browser, await newMember());
    nowMs = 600_001;
    expect(problemOf(await browser.type(code))[0]).toBe(400);
    expect((await browser.agent.get('/auth/code')).text).toContain('Return to the other browser');
  });

  it('may be tried five times, counted over all processes', async () => {
    const browser = openBrowser();
    const asked = await browser.ask(await newMember());
    const cookie = String(asked.get('Set-Cookie')?.[0]).split(';')[0] ?? '';
    await org.ctx.work.waitUntilIdle('code-mails');
    const code = /^\d{3} \d{3}$/m.exec(org.mails.delivered.at(-1)?.mail.text ?? '')?.[0] ?? '';
    const another = createApp(org.ctx);
    const tried = await Promise.all(
      [0, 1, 2, 3, 4].map((n) =>
        supertest(n % 2 === 0 ? org.app : another)
          .post('/auth/code')
          .type('form')
          .set({ origin: publicUrl, cookie })
          .send({ code: wrong(code) }),
      ),
    );
    expect(tried.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400]);
    expect(problemOf(await browser.type(code))).toEqual([
      429,
      'This code was tried too often. Request another code.',
    ]);
    expect(await browser.whoami()).toBeUndefined();
  });

  it.each(['', '12345', '1234567', 'abcdef', '１２３４５６'])(
    '%j is no code and not counted as a try',
    async (text) => {
      const browser = openBrowser();
      const code = await askAs(browser, await newMember());
      for (let n = 0; n < 6; n += 1) expect((await browser.type(text)).status).toBe(422);
      await browser.type(code).expect(303);
    },
  );
});

describe('someone who attacks an address', () => {
  it('gets 20 tries a day over all requests and browsers; the person still signs in from a browser that is known', async () => {
    const email = await newMember();
    const own = openBrowser();
    await own.type(await askAs(own, email)).expect(303);
    let statuses: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      await org.admin('rate_limits').where('key', 'like', 'code-mails:%').delete();
      await org.admin('rate_limits').where('key', 'like', 'failed-authentication:%').delete();
      const attacker = openBrowser();
      const code = await askAs(attacker, email);
      for (let tries = 0; tries < 5; tries += 1) statuses.push((await attacker.type(wrong(code))).status);
    }
    // One of the day's tries was the person's own, before the browser was known.
    expect(statuses.filter((status) => status === 400)).toHaveLength(19);
    statuses = statuses.slice(19);
    expect(new Set(statuses)).toEqual(new Set([429]));
    await org.admin('rate_limits').where('key', 'like', 'failed-authentication:%').delete();
    await own.type(await askAs(own, email)).expect(303);
  });

  it('causes five mails an hour; a known browser has its own five', async () => {
    const email = await newMember();
    const own = openBrowser();
    await own.type(await askAs(own, email)).expect(303);
    for (let n = 0; n < 4; n += 1) await askAs(openBrowser(), email);
    const refused = await openBrowser().ask(email);
    expect(problemOf(refused)).toEqual([
      429,
      'Too many codes were requested for this address. Try again in 60 minutes.',
    ]);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(3_500);
    for (let n = 0; n < 5; n += 1) await askAs(own, email);
    expect(problemOf(await own.ask(email))[0]).toBe(429);
    // The allowance belongs to the address that signed in, not to the browser.
    await own.ask(await newMember()).expect(303);
  });

  it('can ask for 30 codes an hour from one network, whatever the addresses', async () => {
    for (let n = 0; n < 30; n += 1) await openBrowser().ask(`guess-${n}@acme.example`).expect(303);
    expect(problemOf(await openBrowser().ask('guess-31@acme.example'))).toEqual([
      429,
      'Too many codes were requested from here. Try again in 60 minutes.',
    ]);
  });

  it('leaves no address in the database', async () => {
    await openBrowser().ask('stranger@acme.example');
    const { rows } = await org.admin.raw("select string_agg(key, ' ') as keys from rate_limits");
    expect(rows[0].keys).not.toContain('stranger');
  });

  it.each([
    ['/auth/mail', { email: 'a@acme.example' }],
    ['/auth/code', { code: '123456' }],
  ])('cannot send %s from a page of another site', async (path, form) => {
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, {}]) {
      const response = await supertest(org.app).post(path).type('form').set(headers).send(form);
      expect([response.status, response.get('Set-Cookie')]).toEqual([403, undefined]);
    }
  });

  it.each(['//evil.example', 'https://evil.example/', '/\\evil.example', 'javascript:alert(1)'])(
    'cannot lead to %s after sign-in',
    async (returnTo) => {
      expect(problemOf(await openBrowser().ask('a@acme.example', { returnTo }))[0]).toBe(400);
      const page = await supertest(org.app).get('/auth/login').query({ returnTo });
      expect(page.status).toBe(400);
    },
  );
});

describe('next to an identity provider', () => {
  const oidc = {
    issuer: 'http://127.0.0.1:9',
    audience: 'portal',
    jwksUri: 'http://127.0.0.1:9/jwks',
    userinfoUri: null,
    client: { id: 'portal', secret: null },
  };
  const withProvider = (): Express =>
    createApp({ ...org.ctx, settings: { ...org.ctx.settings, oidc } } satisfies Ctx);

  it('the page offers both, and people whom a provider has signed in get no code', async () => {
    const linked = await org.joinBare('viewer');
    await org.admin('user_identities').insert({ issuer: oidc.issuer, subject: 'linked', user_id: linked.id });
    const page = await supertest(withProvider())
      .get('/auth/login?returnTo=/console')
      .set('accept', 'text/html');
    expect(page.text).toContain('href="/auth/login?with=provider&amp;returnTo=%2Fconsole"');
    await openBrowser(withProvider()).ask(linked.email).expect(303);
    await org.ctx.work.waitUntilIdle('code-mails');
    expect(org.mails.delivered.filter(({ to }) => to.includes(linked.email))).toEqual([]);
    await askAs(openBrowser(withProvider()), await newMember());
  });

  it('someone who is linked while a code is on its way cannot use it', async () => {
    const { id, email } = await org.joinBare('viewer');
    const browser = openBrowser(withProvider());
    const code = await askAs(browser, email);
    await org.admin('user_identities').insert({ issuer: oidc.issuer, subject: 'late', user_id: id });
    expect(problemOf(await browser.type(code))).toEqual([
      403,
      'There is no account for you here. Ask for an invitation to an organization.',
    ]);
  });
});

it('a mail that the server defers is sent again', async () => {
  org.mails.refuseNext.push({ code: 451, text: '4.7.1 Greylisted' });
  const browser = openBrowser();
  await browser.type(await askAs(browser, await newMember())).expect(303);
});
