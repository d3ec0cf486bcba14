// Browsers of a portal's visitors: they sign in with the code of a mail, as people do.
import supertest from 'supertest';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { inTransaction } from '../../src/db/transaction.ts';
import { toCookieName } from '../../src/http/cookies.ts';
import { insertSession } from '../../src/portal/sessions.store.ts';
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

/** A session without a mail, below the service's own host: its cookie. `viewer`: of a member who sees what the visitor would. */
export async function startVisit(
  { db, settings, organizationId }: TenantCtx,
  email: string,
  viewer: string | null = null,
): Promise<{ readonly name: string; readonly token: string }> {
  const { origin, host } = new URL(settings.publicUrl);
  const site = { organizationId, host } as Parameters<typeof insertSession>[1];
  const { token } = await inTransaction({ db, organizationId }, (tx) =>
    insertSession(tx, site, {
      ...{ email, customer: null, viewer_id: viewer, previous_visit_at: null, lifetimeSeconds: 3_600 },
      ...{ ip: '127.0.0.1', userAgent: null },
    }),
  );
  const kind = viewer === null ? 'portal_visitor' : 'portal_view_as';
  return { name: toCookieName(origin, `${kind}_${organizationId}`), token };
}

/** The code of the next mail; empty when none was sent. */
export async function nextCode(org: Pick<Org, 'ctx' | 'mails'>): Promise<string> {
  await org.ctx.work.waitUntilIdle('code-mails');
  return /^\d{3} \d{3}$/m.exec(org.mails.delivered.pop()?.mail.text ?? '')?.[0] ?? '';
}
