// What an account or a person can get wrong about any record type, end to end: each is a reason in the
// metadata or a 422 that names what to change, and no run fails without a name.
import { describe, expect, it } from 'vitest';
import { UNAVAILABLE_TYPES } from '../../packages/netsuite-simulator/src/tables/all-tables.ts';
import { type Answer, listProblems, pluck } from '../setup/api.ts';
import { useStarted } from '../setup/use-started.ts';
import { openCompany } from './company.ts';

type Detail = { readonly path: string; readonly code: string; readonly message: string };
type Field = {
  readonly name: string;
  readonly type: string;
  readonly syncable: boolean;
  readonly reason: string | null;
};

const company = useStarted(() => openCompany());

const listDetails = ({ body }: Pick<Answer, 'body'>): readonly Detail[] => body.error?.details ?? [];
const describeType = async (name: string) => (await company.api('get', `/netsuite/metadata/${name}`)).body;

/** It can't be synced, for a reason that the metadata and both ways of syncing it give. */
async function expectUnsyncable(name: string): Promise<string> {
  const described = await describeType(name);
  expect(described).toMatchObject({ name, syncable: false, reason: expect.stringMatching(/\w+ \w+/) });
  const refused = await company.api('post', '/sync-configs', { name, recordType: name });
  expect([refused.status, listDetails(refused).map(({ path }) => path)]).toEqual([422, ['recordType']]);
  expect(listDetails(refused)[0]?.message).toContain(described.reason);
  const bulk = { recordTypes: [name], dryRun: false };
  const { status, body } = await company.api('post', '/sync-configs/bulk', bulk);
  expect(status).toBeLessThan(300);
  expect(body.data).toEqual([expect.objectContaining({ recordType: name, status: 'refused' })]);
  expect(body.data[0].reason).toContain(described.reason);
  return described.reason;
}

describe('a record type', () => {
  it('that the role can’t read has that as its reason, until the role may', async () => {
    company.erp.account.setVisible('partner', false);
    try {
      expect(await expectUnsyncable('partner')).toContain('role');
    } finally {
      company.erp.account.setVisible('partner', true);
    }
    expect((await company.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
    expect(await describeType('partner')).toMatchObject({ syncable: true, reason: null });
  });

  it('that queries don’t have', async () => {
    expect(UNAVAILABLE_TYPES.length).toBeGreaterThan(50);
    for (const name of UNAVAILABLE_TYPES.slice(0, 3)) await expectUnsyncable(name);
  });

  it('without a key that is a number names queries as the way to sync it', async () => {
    expect(await expectUnsyncable('transactionstatus')).toMatch(/quer/);
  });

  it('whose records are among those of another one names that', async () => {
    expect(await expectUnsyncable('inventoryItem')).toContain('item');
  });

  it('that the account doesn’t have is unknown', async () => {
    expect((await company.api('get', '/netsuite/metadata/customrecord_nothing')).status).toBe(404);
    const config = { name: 'x', recordType: 'customrecord_nothing' };
    const refused = await company.api('post', '/sync-configs', config);
    expect([refused.status, listProblems(refused)]).toEqual([422, ['recordType unknown_record_type']]);
    const recordTypes = ['customrecord_nothing', 'Robert"); DROP'];
    const bulk = await company.api('post', '/sync-configs/bulk', { recordTypes, dryRun: false });
    expect(pluck(bulk.body.data, 'status')).toEqual(['refused', 'refused']);
    const misnamed = await company.api('get', '/netsuite/metadata/not%20a%20name');
    expect(misnamed.status).toBeGreaterThanOrEqual(400);
    const empty = await company.api('post', '/sync-configs/bulk', { recordTypes: [] });
    expect([empty.status, listDetails(empty).map(({ path }) => path)]).toEqual([422, ['recordTypes']]);
  });
});

describe('a custom field', () => {
  const recordType = 'customrecord_warranty';
  const field = { table: recordType, name: 'custrecord_warranty_grade', type: 'text', label: 'Grade' };
  const broken = { ...field, name: 'custrecord_warranty_broken', label: 'Broken', refusal: 'fails' };
  const configs = new Map<string, string>();
  const fieldNamed = async (name: string): Promise<Field | undefined> =>
    (await describeType(recordType)).fields.find((each: Field) => each.name === name);

  it('that fails in a select is found and named, and all others are synced', async () => {
    await company.control('POST', '/fields', field);
    await company.control('POST', '/fields', broken);
    const { fields } = await describeType(recordType);
    const reason = expect.stringMatching(/\w+ \w+/);
    expect(await fieldNamed(broken.name)).toMatchObject({ syncable: false, reason });
    expect(await fieldNamed(field.name)).toMatchObject({ syncable: true, type: 'text' });
    expect(fields.filter(({ syncable, name }: Field) => !syncable && name !== broken.name)).toEqual([]);
    const made = await company.api('post', '/sync-configs', { name: recordType, recordType });
    expect(made.status).toBe(201);
    configs.set(recordType, made.body.id);
    expect((await company.sync(configs, 'full')).get(recordType)?.counts.inserted).toBeGreaterThan(10);
    const refused = await company.api('patch', `/sync-configs/${made.body.id}`, {
      fields: ['id', broken.name],
    });
    expect([refused.status, listDetails(refused).map(({ path }) => path)]).toEqual([422, ['fields[1]']]);
  });

  it('that gets another type, another name, or fails from one day on leaves no run without a name', async () => {
    const renamed = 'custrecord_warranty_level';
    const replace = async (name: string, by: object): Promise<void> => {
      await company.control('DELETE', `/fields/${recordType}/${name}`);
      await company.control('POST', '/fields', by);
    };
    const changes: readonly (readonly [string, () => Promise<unknown>])[] = [
      ['retyped', () => company.control('PATCH', `/fields/${recordType}/${field.name}`, { type: 'integer' })],
      ['renamed', () => replace(field.name, { ...field, name: renamed })],
      ['failing', () => replace(renamed, { ...field, name: renamed, refusal: 'fails' })],
    ];
    for (const [name, change] of changes) {
      await change();
      const run = (await company.sync(configs, 'full', ['succeeded', 'partial'])).get(recordType);
      if (run?.status === 'partial')
        expect(run.error, name).toMatchObject({ code: expect.stringMatching(/^[A-Z_]+$/) });
      expect((await company.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
    }
    expect(await fieldNamed(field.name)).toBeUndefined();
    expect(await fieldNamed(renamed)).toMatchObject({ syncable: false, reason: expect.any(String) });
  });

  it('whose public name collides with another one’s is refused by its path', async () => {
    const fields = ['name', 'created'].map((source) => ({ name: 'same', source, description: '' }));
    const draft = await company.api('post', '/api-schema', {
      name: 'x',
      endpoints: [{ name: 'warranties', recordType, description: '', fields }],
    });
    const answer =
      draft.status === 201
        ? await company.api('post', `/api-schema/${draft.body.id}/publish`, { revision: draft.body.revision })
        : draft;
    expect([answer.status, listDetails(answer).map(({ path }) => path)]).toEqual([
      422,
      ['endpoints[0].fields[1].name'],
    ]);
  });
});

describe('a query', () => {
  const sound = {
    name: 'open_amounts',
    label: 'Open amounts',
    query:
      'SELECT entity, SUM(foreignamountunpaid) AS unpaid FROM transaction WHERE entity IS NOT NULL GROUP BY entity',
    keyColumn: 'entity',
  };
  it('that is sound is synced as one more record type', async () => {
    expect((await company.api('post', '/netsuite/queries', sound)).status).toBe(201);
    const made = await company.api('post', '/sync-configs', { name: 'Open', recordType: sound.name });
    expect(made.status).toBe(201);
    const runs = await company.sync(new Map([[sound.name, made.body.id]]), 'full');
    const { rows } = await company.account.pool.query(
      'select distinct entity from ledger.transaction where entity is not null',
    );
    expect(runs.get(sound.name)?.counts.inserted).toBe(rows.length);
    expect((await company.api('delete', `/netsuite/queries/${sound.name}`)).status).toBe(422);
  });
});
