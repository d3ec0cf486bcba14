// Names that are unique in their list: two that look the same would let one pass for the other.
import type { Express } from 'express';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { loadInvoices, publishVersion } from '../public/fixture.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { type World, world } from './members/world.ts';

let database: TestDatabase;
let app: Express;
let w: World;
beforeAll(async () => {
  database = await testDatabase();
  app = createApp(database.ctx);
  w = await world(database.ctx, app);
  await loadInvoices(database.ctx, w.id, [{ id: 1 }]);
  await publishVersion(database.ctx, w.id);
});
afterAll(() => database.close());

const kinds = {
  roles: () => ({ at: `${w.at}/roles`, rest: { permissions: [] } }),
  teams: () => ({ at: '/teams', rest: {} }),
  agents: () => ({ at: '/agents', rest: { apiVersion: 'v1', model: 'offline' } }),
};

describe.each(Object.entries(kinds))('the name of one of the %s', (_kind, kindOf) => {
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
    const { at, rest } = kindOf();
    const made = await w.owner.api('post', at, { name, ...rest });
    expect([made.status, made.body.error?.details[0].path]).toEqual([422, 'name']);
    const other = await w.owner.api('post', at, {
      name: `Other ${JSON.stringify(name)}`.replaceAll(/[^ -~]/gu, '?'),
      ...rest,
    });
    expect(other.status).toBe(201);
    const changed = await w.owner.api('patch', `${at}/${other.body.id}`, { name });
    expect([changed.status, changed.body.error?.details[0].path]).toEqual([422, 'name']);
    expect((await w.owner.api('delete', `${at}/${other.body.id}`)).status).toBe(204);
  });

  it.each(['⚙️ Operators', '👩🏽‍💻 Developers', 'نرم‌افزار', 'कार्यालय', 'Größe – 大阪'])(
    'may be %s',
    async (name) => {
      const { at, rest } = kindOf();
      const made = await w.owner.api('post', at, { name, ...rest });
      expect([made.status, made.body.name]).toEqual([201, name]);
    },
  );
});
