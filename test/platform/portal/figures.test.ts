// Figures of the access to the portal: how many customers can sign in, and which addresses several of them share. The
// model counts from what it wrote into the records; it reads no address as the service does.
import { beforeAll, describe, expect, it } from 'vitest';
import { createRandom } from '../../access/random.ts';
import {
  contactTypes,
  customerTypes,
  loadCompany,
  loadRecords,
  type Row,
  settings,
} from '../../portal/company.ts';
import { switchOn } from '../../portal/served-portal.ts';
import { publishVersion } from '../../public/fixture.ts';
import type { Api } from '../../setup/api.ts';
import { until } from '../../setup/until.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();
const random = createRandom(77);
let api: Api;
beforeAll(async () => {
  api = await org.session(org.owner.id);
});

const mailboxes = ['info', 'office', 'accounts', 'buchhaltung', 'compta', 'facturas', 'administratie'];
const people = ['ada', 'ben', 'cleo', 'information', 'officer', 'my-info'];
type Address = { readonly text: string; readonly isMailbox: boolean };
const addresses: readonly Address[] = [...mailboxes, ...people].flatMap((user) =>
  Array.from({ length: 12 }, (_, at) => ({
    text: `${user}@company${at}.example`,
    isMailbox: mailboxes.includes(user),
  })),
);

const count = 2_300; // three pages
const active = new Set<number>();
const held = new Map<string, Set<number>>();
const hold = (customer: number, chosen: readonly Address[], counts: boolean): string | null => {
  if (counts) for (const { text } of chosen) held.set(text, (held.get(text) ?? new Set()).add(customer));
  const written = chosen.map(({ text }) => (random.chance(0.3) ? text.toUpperCase() : text));
  return written.length === 0 ? null : written.join(random.pick(['; ', ', ', ' ']));
};
const choose = (): Address[] => {
  if (random.chance(0.6)) return [];
  return random.chance(0.8) ? [random.pick(addresses)] : [random.pick(addresses), random.pick(addresses)];
};
const customers = Array.from({ length: count }, (_, index): Row => {
  const [id, isActive] = [index + 1, random.chance(0.85)];
  if (isActive) active.add(id);
  return { id, name: `Customer ${id}`, email: hold(id, choose(), isActive), isinactive: !isActive };
});
const contacts = Array.from({ length: 1_500 }, (_, index): Row => {
  const [company, isActive] = [1 + random.int(count), random.chance(0.85)];
  return { id: 9_000 + index, email: hold(company, choose(), isActive), company, isinactive: !isActive };
});

/** What the model knows of the active customers. */
function expected() {
  const own = [...held].flatMap(([text, all]) => {
    const ids = [...all].filter((id) => active.has(id));
    return ids.length === 0 ? [] : [{ text, ids }];
  });
  const reachable = new Set(own.flatMap(({ ids }) => ids));
  return {
    own,
    figures: {
      customers: active.size,
      withAddress: reachable.size,
      withoutAddress: active.size - reachable.size,
      addresses: own.length,
      sharedAddresses: { count: own.filter(({ ids }) => ids.length > 1).length },
      sharedMailboxes: {
        count: own.filter(({ text }) => mailboxes.some((name) => text.startsWith(`${name}@`))).length,
      },
      truncated: false,
    },
  };
}

const read = async (as: Api = api) => (await as('get', '/portal/access')).body.figures;
async function readCounted() {
  await org.ctx.work.waitUntilIdle('portal-figures');
  return read();
}
const makeDue = () => org.admin('portal_access').update({ figures_due_at: new Date() });

describe('figures', () => {
  it('are null while the portal is off', async () => {
    await loadCompany(org.ctx, org.id, { customers, contacts });
    expect(await read()).toBeNull();
  });

  it('are counted once the portal is ready, without being asked for', async () => {
    expect((await api('put', '/portal/access', settings)).status).toBe(202);
    await org.ctx.work.waitUntilIdle('portal-figures');
    const figures = await read();
    const { own, figures: wanted } = expected();
    expect(figures).toMatchObject(wanted);
    for (const { examples } of [figures.sharedAddresses, figures.sharedMailboxes]) {
      expect(examples).toHaveLength(10);
      for (const { email, customers: named } of examples) {
        const ids = own.find(({ text }) => text === email)?.ids ?? [];
        expect(named).toHaveLength(Math.min(ids.length, 10));
        for (const { id, name } of named) {
          expect(ids).toContain(Number(id));
          expect(name).toBe(`Customer ${id}`);
        }
      }
    }
  });

  it('are counted again at most once an hour', async () => {
    const before = await read();
    await loadRecords(org.ctx, org.id, 'customer', customerTypes, customers.slice(0, 10));
    await loadRecords(org.ctx, org.id, 'contact', contactTypes, []);
    expect(await readCounted()).toEqual(before);
    await makeDue();
    expect(await read()).toEqual(before);
    const isActive = customers.slice(0, 10).filter(({ isinactive }) => isinactive === false).length;
    expect(await readCounted()).toMatchObject({ customers: isActive });
    await loadRecords(org.ctx, org.id, 'customer', customerTypes, customers);
    await loadRecords(org.ctx, org.id, 'contact', contactTypes, contacts);
  });

  it('are kept when counting fails, and counted again a minute later', async () => {
    const before = await read();
    const setStale = (stale: object) =>
      org.ctx.db.data.query(
        `update wh_${org.id.replaceAll('-', '')}.record_state set stale_fields = $1, generation = generation + 1 where record_type = 'contact'`,
        [JSON.stringify(stale)],
      );
    await setStale({ email: '2026-03-01T00:00:00Z' });
    await makeDue();
    await read();
    expect(await readCounted()).toEqual(before);
    await setStale({});
    await makeDue();
    await read();
    expect(await readCounted()).toMatchObject(expected().figures);
  });

  it('have no examples for callers who may not read records, or see addresses masked', async () => {
    const configurer = await org.join(['portal:read']);
    const shown = await read(configurer.api);
    expect(shown).toMatchObject(expected().figures);
    expect([shown.sharedAddresses.examples, shown.sharedMailboxes.examples]).toEqual([[], []]);
    const reader = await org.join(['portal:read', 'record:read']);
    expect((await read(reader.api)).sharedAddresses.examples).toHaveLength(10);
    await publishVersion(org.ctx, org.id, {
      endpoints: [
        {
          name: 'contacts',
          recordType: 'contact',
          fields: [{ name: 'email', source: 'email', mask: 'hash' }],
        },
      ],
    });
    await until(async () => (await read(reader.api)).sharedAddresses.examples.length === 0);
    expect((await read()).sharedAddresses.examples).toHaveLength(10);
  });

  it('are of the customers whom people name, where no entry is about customers', async () => {
    await switchOn({ api }, { people: settings.people.slice(1) });
    const figures = await readCounted();
    const named = new Set(
      contacts.flatMap(({ company, email, isinactive }) =>
        email !== null && isinactive === false ? [company] : [],
      ),
    );
    expect(figures).toMatchObject({ customers: count, withAddress: named.size });
  });
});
