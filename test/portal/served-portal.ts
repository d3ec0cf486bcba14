// Organizations whose portal is on, at a domain that they have verified by the DNS.

import type { Ctx } from '../../src/core/ctx.ts';
import type { Api } from '../setup/api.ts';
import type { DnsServer } from '../setup/dns.ts';
import { until } from '../setup/until.ts';
import type { Organization } from '../setup/use-organization.ts';
import { loadCompany, settings } from './company.ts';

/** As the owner, who may change the portal. */
export type PortalOwner = { readonly api: Api; readonly domains: string };

export const asOwner = async ({ at, session, owner }: Organization): Promise<PortalOwner> => ({
  api: await session(owner.id),
  domains: `${at}/domains`,
});

/** Switches the portal on, and waits until it is. Throws when that fails. */
export async function switchOn({ api }: Pick<PortalOwner, 'api'>, change: object = {}): Promise<void> {
  const answer = await api('put', '/portal/access', { ...settings, ...change });
  if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
  await until(async () => {
    const { status, publication } = (await api('get', '/portal/access')).body;
    if (status === 'failed') throw new Error(JSON.stringify(publication));
    return status === 'on';
  });
}

export const switchOff = ({ api }: PortalOwner) =>
  api('put', '/portal/access', { ...settings, enabled: false });

/** Adds the domain and verifies it; by default it becomes the primary one. Returns its id. */
export async function addDomain(
  { api, domains }: PortalOwner,
  dns: DnsServer,
  hostname: string,
  { isPrimary = true } = {},
): Promise<string> {
  const { id, verification } = (await api('post', domains, { hostname })).body;
  dns.set(verification.name, { txt: [verification.value] });
  const { status } = (await api('post', `${domains}/${id}/verify`)).body;
  if (status !== 'verified') throw new Error(`${hostname} is ${status}`);
  if (isPrimary) await api('patch', `${domains}/${id}`, { isPrimary });
  return id;
}

/** A portal that is on at this hostname. */
export async function openServedPortal(
  ctx: Ctx,
  organization: Organization,
  dns: DnsServer,
  hostname: string,
): Promise<PortalOwner & { readonly domainId: string }> {
  await loadCompany(ctx, organization.id, {});
  const owner = await asOwner(organization);
  await switchOn(owner);
  return { ...owner, domainId: await addDomain(owner, dns, hostname) };
}
