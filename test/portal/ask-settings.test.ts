// Which agents can answer the visitors of a portal: those whose version declares what narrows its records as scopable.
import { beforeAll, expect, it } from 'vitest';
import { createId } from '../../src/core/id.ts';
import { refusal } from '../setup/api.ts';
import { useOrganization } from '../setup/use-organization.ts';
import {
  addAgent,
  customersEndpoint,
  endpoint,
  openAskedCompany,
  putAccess,
  withoutScope,
} from './asking.ts';
import { settings } from './company.ts';
import type { PortalOwner } from './served-portal.ts';

const org = useOrganization();
let owner: PortalOwner;
let agentId: string;

beforeAll(async () => {
  owner = await openAskedCompany(org);
  agentId = await addAgent(org, 'v1');
});

const problems = async () =>
  (await owner.api('get', '/portal/access')).body.problems.map(
    ({ path, code }: { path: string; code: string }) => `${path} ${code}`,
  );

it('no agent answers unless one is chosen, and stored settings from before have none', async () => {
  await org.sql((tx) =>
    tx('portal_access').update({
      settings: tx.raw("settings - 'agentId' - 'visitorQuestionsPerDay'"),
    }),
  );
  const { body } = await owner.api('get', '/portal/access');
  expect([body.agentId, body.visitorQuestionsPerDay, body.problems]).toEqual([null, 20, []]);
});

it.each([
  ['another organization’s or a deleted agent', async () => createId(), 'unknown_agent'],
  [
    'a version without the customer as scopable',
    () => addAgent(org, 'v2', { endpoints: [withoutScope] }),
    'not_scopable',
  ],
  [
    'one of two resources without it',
    () => addAgent(org, 'v3', { endpoints: [endpoint, { ...withoutScope, name: 'bills' }] }),
    'not_scopable',
  ],
  [
    'no resource that visitors see',
    () => addAgent(org, 'v4', { endpoints: [customersEndpoint] }),
    'nothing_shown',
  ],
])('%s is refused', async (_, make, code) => {
  expect(await refusal(await putAccess(owner, { agentId: await make() }))).toEqual([422, code]);
});

it('fields of conditions must be scopable too', async () => {
  const [shown] = settings.records;
  const on = (field: string, value: string) =>
    putAccess(owner, { agentId, records: [{ ...shown, conditions: [{ field, in: [value] }] }] });
  const answer = await on('tranid', 'INV-1');
  expect([answer.status, answer.body.error.details]).toEqual([
    422,
    [
      {
        path: 'agentId',
        code: 'not_scopable',
        message: '"invoices" of v1 has no scopable field with the source "tranid"',
      },
    ],
  ]);
  expect((await on('id', '101')).status).toBe(202);
  expect((await on('status', 'open')).status).toBe(202);
});

it('is in the audit log; what stops the agent later is among the problems', async () => {
  expect((await putAccess(owner, { agentId, visitorQuestionsPerDay: 3 })).body).toMatchObject({
    ...{ agentId, visitorQuestionsPerDay: 3, problems: [] },
  });
  const { data } = (await owner.api('get', `${org.at}/audit-log?action=portal.update-access&pageSize=1`))
    .body;
  expect(data[0].changes).toMatchObject({ agentId, visitorQuestionsPerDay: 3 });
  const set = (change: object) => org.sql((tx) => tx('agents').where({ id: agentId }).update(change));
  await set({ status: 'stopped' });
  expect(await problems()).toEqual(['agentId agent_not_ready']);
  await set({ status: 'running', api_version: 'v2' });
  expect(await problems()).toEqual(['agentId not_scopable']);
  expect((await putAccess(owner, { agentId, enabled: false })).status).toBe(202);
  await owner.api('delete', `/agents/${agentId}`);
  expect(await problems()).toEqual(['agentId unknown_agent']);
});
