// What the control interface says of the role's restrictions and of other integrations, in an account without
// a profile.
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createGovernance, type Load } from '../src/governance.ts';
import { createSwitches } from '../src/switches.ts';
import { useControlled } from './control-client.ts';
import { createIdentity, signIn, toErrorDetail } from './test-account.ts';

const world = useControlled();
beforeAll(async () => {
  await world.done('POST', '/records/vendor', { fields: { companyname: 'Supplies' } });
});
afterEach(() => world.done('POST', '/reset'));

const Q = 'SELECT id FROM currency';
const restrict = (restrictions: object | null) => world.done('POST', '/role', { restrictions });
const readIds = (table: string) => world.column(`SELECT id FROM ${table} ORDER BY id`);

describe('restrictions', () => {
  it('by record type: rows vanish from queries with their lines; the record is 403', async () => {
    await restrict({ recordTypes: { invoice: 'none' } });
    expect(await readIds('transaction')).toEqual([]);
    expect(await world.value('SELECT COUNT(*) AS n FROM transactionline')).toBe('0');
    await world.expectNone('SELECT c.id FROM customer c JOIN transaction t ON t.entity = c.id');
    for (const path of ['invoice/101', 'invoice', 'invoice/101/item'])
      expect(toErrorDetail(await world.get(`record/v1/${path}`))[2], path).toBe('INSUFFICIENT_PERMISSION');
    expect((await world.get('record/v1/creditMemo')).status).toBe(200);
  });

  it('a record type to be viewed can be read but not written', async () => {
    await restrict({ recordTypes: { invoice: 'view' } });
    expect([
      (await world.get('record/v1/invoice/101')).status,
      (await readIds('transaction')).length,
    ]).toEqual([200, 7]);
    expect(await world.status('PATCH', 'record/v1/invoice/101', { memo: 'x' })).toBe(403);
    expect(await world.status('POST', 'record/v1/invoice', { entity: { id: '1' } })).toBe(403);
    expect(await world.status('PATCH', 'record/v1/customer/1', { comments: 'x' })).toBe(204);
  });

  it('entity has only the kinds that the role may see', async () => {
    const kinds = async () => await world.column('SELECT DISTINCT type FROM entity ORDER BY type');
    expect(await kinds()).toEqual(['CustJob', 'Vendor']);
    await world.done('POST', '/role', { permissions: { customers: false } });
    expect(await kinds()).toEqual(['Vendor']);
  });

  it('are in the state, stay when only permissions are given, and end with null', async () => {
    await restrict({ subsidiaries: ['1'], recordTypes: { invoice: false } });
    const { role } = await world.done('POST', '/role', { permissions: { items: 'view' } });
    expect(role).toMatchObject({
      permissions: { items: 'view' },
      restrictions: { subsidiaries: { ids: ['1'], viewing: false }, transactionTypes: { CustInvc: 'none' } },
    });
    expect((await restrict(null)).role.restrictions).toEqual({ transactionTypes: {} });
  });

  it.each([
    [{ recordTypes: { customer: 'none' } }, 'restrictions.recordTypes.customer'],
    [{ subsidiaries: [] }, 'restrictions.subsidiaries'],
    [{ departments: { ids: ['x'] } }, 'restrictions.departments'],
    [{ regions: ['1'] }, 'restrictions.regions'],
  ])('%j is refused', async (restrictions, path) => {
    expect(await world.refuse('POST', '/role', { restrictions })).toEqual([422, path]);
  });
});

describe('other integrations', () => {
  const limits = async () => await world.read('system/v1/governanceLimits');

  it('vary their load over time', () => {
    let seconds = 0;
    const governance = createGovernance(createSwitches(), {}, { now: () => new Date(seconds * 1000) });
    const steps = [
      { concurrency: 4, seconds: 30 },
      { concurrency: 0, seconds: 60 },
    ];
    const load: Load = {
      others: [
        { name: 'warehouse', steps },
        { name: 'shop', steps: [{ concurrency: 9, seconds: 1 }], limit: 2 },
      ],
      limits: {},
    };
    governance.setLoad(load);
    const seen = [0, 29.9, 30, 89.9, 90, 125].map((at) => {
      seconds = at;
      return governance.sumConcurrency(load.others);
    });
    expect(seen).toEqual([6, 6, 2, 2, 6, 2]);
  });

  it('take places of what is not allocated to an integration', async () => {
    const busy = { name: 'warehouse', concurrency: [{ concurrency: 4, seconds: 3600 }] };
    const { load } = await world.done('POST', '/load', {
      integrations: [busy, { name: 'shop', concurrency: 1, limit: 1 }],
    });
    expect(load).toMatchObject({
      concurrency: 5,
      limit: 5,
      integrations: [
        { name: 'warehouse', concurrency: 4 },
        { name: 'shop', limit: 1 },
      ],
    });
    expect(toErrorDetail(await world.query(Q))[2]).toBe('CONCURRENCY_LIMIT_EXCEEDED');
    await world.done('POST', '/load', { integrations: [{ name: 'shop', concurrency: 4, limit: 4 }] });
    expect((await world.query(Q)).status).toBe(200);
    expect(await limits()).toEqual({
      accountConcurrencyLimit: 5,
      accountUnallocatedConcurrencyLimit: 1,
      integrationLimitType: 'accountLimit',
    });
  });

  it('an integration with an allocated limit has it for itself', async () => {
    const identity = await createIdentity(world.account);
    const authorization = `Bearer ${await signIn(world.account, identity)}`;
    await world.done('POST', '/load', { concurrency: 3, limits: { [identity.clientId]: 2 } });
    const own = (path: string) =>
      fetch(`${world.account.url}/services/rest/${path}`, { headers: { authorization } });
    expect((await world.query(Q)).status).toBe(429); // shares three places, all of which are taken
    expect(await (await own('system/v1/governanceLimits')).json()).toEqual({
      accountConcurrencyLimit: 5,
      accountUnallocatedConcurrencyLimit: 3,
      integrationConcurrencyLimit: 2,
      integrationLimitType: 'integrationSpecific',
    });
    world.account.setLatency(100);
    const statuses = (await Promise.all([1, 2, 3, 4].map(() => own('system/v1/serverTime')))).map(
      ({ status }) => status,
    );
    world.account.setLatency(0);
    expect(statuses.sort()).toEqual([200, 200, 429, 429]);
  });

  it.each([
    [{ limits: { x: 5 } }, 'limits'],
    [{ limits: { x: 0 } }, 'limits.x'],
    [{ integrations: [{ name: 'a', concurrency: [] }] }, 'integrations[0].concurrency'],
  ])('%j is refused', async (body, path) => {
    expect(await world.refuse('POST', '/load', body)).toEqual([422, path]);
  });
});
