// Names that are unique in their list: two that look the same would let one pass for the other.
import { beforeAll, describe, expect, it } from 'vitest';
import { loadInvoices, publishVersion } from '../public/fixture.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();
beforeAll(async () => {
  await loadInvoices(org.ctx, org.id, [{ id: 1 }]);
  await publishVersion(org.ctx, org.id);
});

const kinds = {
  roles: () => ({ at: `${org.at}/roles`, rest: { permissions: [] } }),
  teams: () => ({ at: '/teams', rest: {} }),
  agents: () => ({ at: '/agents', rest: { apiVersion: 'v1', model: 'offline' } }),
};

describe.each(Object.entries(kinds))('the name of one of the %s', (_kind, getKind) => {
  it.each([
    ['a zero-width space', 'Own\u200ber'],
    ['a zero-width joiner', 'Owner\u200d'],
    ['a zero-width non-joiner', 'Ow\u200cner'],
    ['a soft hyphen', 'Own\u00ader'],
    ['a word joiner', '\u2060Owner'],
    ['a byte order mark', 'Own\ufeffer'],
    ['a variation selector', 'Owner\ufe0f'],
    ['a tag', 'Owner\u{e0041}'],
    ['a Hangul filler', 'Owner\u3164'],
    ['a blank Braille pattern', 'Owner\u2800'],
    ['a combining grapheme joiner', 'Own\u034fer'],
    ['a change of direction', 'Owner\u202e'],
  ])('422 with %s, when it is made and when it is changed', async (_what, name) => {
    const { at, rest } = getKind();
    const made = await org.api('post', at, { name, ...rest });
    expect([made.status, made.body.error?.details[0].path]).toEqual([422, 'name']);
    const other = await org.api('post', at, {
      name: `Other ${JSON.stringify(name)}`.replaceAll(/[^ -~]/gu, '?'),
      ...rest,
    });
    expect(other.status).toBe(201);
    const changed = await org.api('patch', `${at}/${other.body.id}`, { name });
    expect([changed.status, changed.body.error?.details[0].path]).toEqual([422, 'name']);
    expect((await org.api('delete', `${at}/${other.body.id}`)).status).toBe(204);
  });

  it.each(['⚙️ Operators', '👩🏽‍💻 Developers', 'نرم‌افزار', 'कार्यालय', 'Größe – 大阪'])(
    'may be %s',
    async (name) => {
      const { at, rest } = getKind();
      const made = await org.api('post', at, { name, ...rest });
      expect([made.status, made.body.name]).toEqual([201, name]);
    },
  );
});
