// Browsers of a portal's visitors: they sign in with the code of a mail, as people do.
import supertest from 'supertest';
import type { OrganizationSite } from '../setup/use-organization.ts';

type Org = Pick<OrganizationSite, 'app' | 'ctx' | 'slug' | 'mails'>;

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
export async function nextCode(org: Pick<Org, 'ctx' | 'mails'>): Promise<string> {
  await org.ctx.work.waitUntilIdle('code-mails');
  return /^\d{3} \d{3}$/m.exec(org.mails.delivered.pop()?.mail.text ?? '')?.[0] ?? '';
}
