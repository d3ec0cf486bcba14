// The portal counts among those that use the records of a sync: in what a change of the sync would break, whom its
// problems concern, and what a change in the ERP affects.
import { beforeAll, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { tenantSchema } from '../../src/warehouse/tenant-schema.ts';
import { refusal } from '../setup/api.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { loadCompany, settings } from './company.ts';
import { asOwner, type PortalOwner, switchOff, switchOn } from './served-portal.ts';

const org = useOrganization();
const ids = { customer: createId(), contact: createId(), invoice: createId() };
let owner: PortalOwner;

beforeAll(async () => {
  await loadCompany(org.ctx, org.id, {});
  owner = await asOwner(org);
  const stale = { since: '2026-03-02T10:00:00Z', reason: 'unreadable', message: 'Hidden' };
  await org.ctx.db.data.query(
    `update ${tenantSchema(org.id)}.record_state set stale_fields = $1 where record_type = 'invoice'`,
    [JSON.stringify({ duedate: stale, lines: stale })],
  );
  const common = { organization_id: org.id, mode: 'full', deletions: 'none' };
  const event = {
    organization_id: org.id,
    record_type: 'invoice',
    kind: 'vanished',
    from_type: 'text',
    at: new Date(),
  };
  await org.sql(async (tx) => {
    for (const [recordType, id] of Object.entries(ids))
      await tx('sync_configs').insert({ ...common, id, name: recordType, record_type: recordType });
    for (const field of ['duedate', 'lines.item'])
      await tx('drift_events').insert({ ...event, id: createId(), field, run_id: createId() });
  });
});

const remove = (id: string) => owner.api('delete', `/sync-configs/${id}`);
const affected = async (id: string) =>
  (await owner.api('get', `/sync-configs/${id}/affected-versions`)).body.portal;
const drift = async () =>
  (await owner.api('get', `/sync-configs/${ids.invoice}/drift`)).body.data
    .map(({ field, affects }: { field: string; affects: object[] }) => [field, affects])
    .sort();

it('a portal that is off uses nothing', async () => {
  expect([await affected(ids.invoice), await affected(ids.contact)]).toEqual([null, null]);
  expect(await drift()).toEqual([
    ['duedate', []],
    ['lines.item', []],
  ]);
});

it('a portal that is on uses what its settings name and its mappings show, until it is off again', async () => {
  await switchOn(owner, { people: settings.people.slice(0, 1) });
  expect([await affected(ids.customer), await affected(ids.contact)]).toEqual([{ staleFields: [] }, null]);
  expect(await affected(ids.invoice)).toEqual({ staleFields: ['duedate'] });
  expect(await drift()).toEqual([
    ['duedate', [{ kind: 'portal', field: 'duedate' }]],
    ['lines.item', []],
  ]);
  const fields = [{ source: 'lines', label: 'Lines', visible: true }];
  await owner.api('post', '/portal/field-mappings', { recordType: 'invoice', fields });
  expect((await affected(ids.invoice)).staleFields.sort()).toEqual(['duedate', 'lines']);
  expect((await drift())[1]).toEqual(['lines.item', [{ kind: 'portal', field: 'lines.item' }]]);

  const dropped = await owner.api('patch', `/sync-configs/${ids.invoice}`, { fields: ['tranid', 'entity'] });
  expect(await refusal(dropped)).toEqual([422, 'in_use']);
  expect(dropped.body.error.details[0].message).toBe(
    'The portal uses trandate, duedate, total, unpaid, status, lines',
  );
  const deleted = await remove(ids.customer);
  expect(await refusal(deleted)).toEqual([422, 'in_use']);
  expect(deleted.body.error.details[0].message).toMatch(/^The portal uses email/);
  expect((await remove(ids.contact)).status).toBe(204);
  await switchOff(owner);
  expect((await remove(ids.customer)).status).toBe(204);
});
