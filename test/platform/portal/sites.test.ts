// Which portal is found by a hostname and by a slug.
import { beforeAll, describe, expect, it } from 'vitest';
import { findPortalSite } from '../../../src/platform/portal/sites.store.ts';
import { loadCompany } from '../../portal/company.ts';
import {
  addDomain,
  asOwner,
  openServedPortal,
  type PortalOwner,
  switchOff,
  switchOn,
} from '../../portal/served-portal.ts';
import { type Organization, useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization({ dns: true });
const at = (hostname: string) => findPortalSite(org.ctx, { hostname });
const of = (slug: string) => findPortalSite(org.ctx, { slug });

let acme: Organization;
let portal: PortalOwner & { readonly domainId: string };
beforeAll(async () => {
  acme = await org.another({ name: 'Acme' });
  portal = await openServedPortal(org.ctx, acme, org.dns, 'portal.acme.example');
});
const site = () => ({
  organizationId: acme.id,
  slug: acme.slug,
  name: 'Acme',
  hostname: 'portal.acme.example',
  document: expect.stringMatching(/^p\d+$/),
});

describe('findPortalSite', () => {
  it('finds the portal by its hostname in any case, and by the slug', async () => {
    for (const hostname of ['portal.acme.example', 'Portal.ACME.example', 'portal.acme.example.'])
      expect(await at(hostname)).toEqual(site());
    expect(await of(acme.slug)).toEqual(site());
  });

  it('finds nothing for other names, and for what is no name', async () => {
    for (const hostname of [
      ...['acme.example', 'www.portal.acme.example', 'portal.acme.example..', 'portal.acme.example:443'],
      ...['', '\0', "' or true --", 'p%', acme.slug, 'ſ.example', 'x'.repeat(1_000)],
    ])
      expect([hostname, await at(hostname)]).toEqual([hostname, undefined]);
    for (const slug of ['unknown', '', '\0', 'portal.acme.example', acme.slug.toUpperCase()])
      expect([slug, await of(slug)]).toEqual([slug, undefined]);
  });

  it('finds none by a domain that is verified but not primary, pending or failed', async () => {
    const id = await addDomain(portal, org.dns, 'second.acme.example', { isPrimary: false });
    expect(await at('second.acme.example')).toBeUndefined();
    await portal.api('patch', `${portal.domains}/${id}`, { isPrimary: true });
    expect(await at('second.acme.example')).toEqual({ ...site(), hostname: 'second.acme.example' });
    expect(await at('portal.acme.example')).toBeUndefined();
    await portal.api('delete', `${portal.domains}/${id}`);
    expect(await at('second.acme.example')).toBeUndefined();
    expect(await of(acme.slug)).toEqual({ ...site(), hostname: null });
    await portal.api('post', portal.domains, { hostname: 'third.acme.example' });
    expect(await at('third.acme.example')).toBeUndefined();
    await portal.api('patch', `${portal.domains}/${portal.domainId}`, { isPrimary: true });
    expect(await at('portal.acme.example')).toEqual(site());
  });

  it('finds none while the portal is off, was never ready, or the organization is being deleted', async () => {
    const other = await org.another();
    const owner = await asOwner(other);
    await addDomain(owner, org.dns, 'portal.other.example');
    const find = async () => [await at('portal.other.example'), await of(other.slug)];
    const isFound = async () => (await find()).map((found) => found?.organizationId);
    expect(await find()).toEqual([undefined, undefined]);
    await loadCompany(org.ctx, other.id, {});
    await switchOn(owner);
    expect(await isFound()).toEqual([other.id, other.id]);
    await switchOff(owner);
    expect(await find()).toEqual([undefined, undefined]);
    await switchOn(owner);
    expect(await isFound()).toEqual([other.id, other.id]);
    await org.admin('organizations').where({ id: other.id }).update({ deleting_since: new Date() });
    expect(await find()).toEqual([undefined, undefined]);
  });

  it('finds the settings that are ready while others are being made ready', async () => {
    const before = await at('portal.acme.example');
    const document = before?.document;
    await org.admin('portal_access').insert({
      organization_id: acme.id,
      revision: 90,
      settings: JSON.stringify({ enabled: true }),
      document: 'p90',
    });
    expect(await at('portal.acme.example')).toEqual({ ...site(), document });
    await org.admin('portal_access').where({ organization_id: acme.id, revision: 90 }).delete();
  });
});
