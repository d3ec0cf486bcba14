// A portal that is ready, and the browsers of its visitors: they sign in with the code of a mail, as people do.
import supertest from 'supertest';
import { until } from '../setup/until.ts';
import type { useOrganization } from '../setup/use-organization.ts';
import { settings } from './company.ts';

type Org = ReturnType<typeof useOrganization>;

/** Saves the settings and waits until the portal serves them. */
export async function enablePortal(org: Org, change: object = {}): Promise<void> {
  const answer = await org.api('put', '/portal/access', { ...settings, ...change });
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  await until(async () => {
    const { body } = await org.api('get', '/portal/access');
    if (body.status === 'failed') throw new Error(JSON.stringify(body.publication));
    return body.status === 'on';
  });
}

/** `host`: the domain of a portal; without one, the portal is below the service's own host. */
export function openBrowser(org: Org, { host, app = org.app }: { host?: string; app?: Org['app'] } = {}) {
  const agent = supertest.agent(app);
  const base = host === undefined ? `/portal/${org.slug}` : '';
  const origin = host === undefined ? new URL(org.ctx.settings.publicUrl).origin : `https://${host}`;
  const held = new Map<string, string>();
  const headers = () => ({
    accept: 'text/html',
    ...(host !== undefined && { host }),
    ...(held.size > 0 && { cookie: [...held].map(([name, value]) => `${name}=${value}`).join('; ') }),
  });
  /** Cookies are kept here, since those of https are never sent over http by the agent. */
  const keep = (answer: supertest.Response): supertest.Response => {
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (value === '') held.delete(name);
      else held.set(name, value);
    }
    return answer;
  };
  const get = async (path: string, more: Record<string, string> = {}) =>
    keep(await agent.get(`${base}${path}`).set({ ...headers(), ...more }));
  const post = async (path: string, form: object, more: Record<string, string> = {}) =>
    keep(
      await agent
        .post(`${base}${path}`)
        .type('form')
        .set({ ...headers(), origin, ...more })
        .send(form),
    );
  return {
    ...{ base, origin, held, get, post },
    async signIn(email: string): Promise<supertest.Response> {
      await post('/sign-in', { email });
      return post('/code', { code: await nextCode(org) });
    },
  };
}
export type VisitorBrowser = ReturnType<typeof openBrowser>;

/** The code of the next mail; empty when none was sent. */
export async function nextCode(org: Org): Promise<string> {
  await org.ctx.work.waitUntilIdle('code-mails');
  return /^\d{3} \d{3}$/m.exec(org.mails.delivered.pop()?.mail.text ?? '')?.[0] ?? '';
}
