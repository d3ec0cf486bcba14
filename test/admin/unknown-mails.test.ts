// Mails that may have been sent before a restore or a failover: an operator sees them, sends them or discards
// them.
import { beforeAll, expect, it } from 'vitest';
import type { TenantCtx } from '../../src/core/ctx.ts';
import { findLastFailover } from '../../src/db/server-timeline.ts';
import { enqueueMail, layoutMail } from '../../src/mail/index.ts';

import { claimMail } from '../mail/claim-mail.ts';
import { useOrganization } from '../setup/use-organization.ts';
import { type Operator, useOperators } from './fixture.ts';

const site = useOrganization();
const operators = useOperators(site);
let operator: Operator;
let tenant: TenantCtx;
beforeAll(() => {
  operator = operators.open();
  tenant = { ...site.ctx, organizationId: site.id };
});

const content = layoutMail({ title: 'Hello', paragraphs: ['Hello'] });
const mail = (address: string): Promise<string> =>
  site.sql((tx) => enqueueMail(tx, tenant, { kind: 'test', to: { address }, subject: 'Hello', ...content }));
const listed = async () =>
  (await operator.run('list-unknown-mails')).json as unknown as { id: string; canBeSent: boolean }[];
const claim = () => claimMail(site.ctx);

it('after a restore on a new timeline, none is sent until an operator decides', async () => {
  const none = { json: [], text: 'The delivery of no mail is unknown.' };
  expect(await operator.run('list-unknown-mails')).toMatchObject(none);
  await site.admin('server_timelines').insert({ timeline: '000000AA' });
  const wanted = await mail('ada@example.test');
  const unwanted = await mail('bob@example.test');
  const lost = await mail('cleo@example.test');
  await operator.run('finish-restore');
  // The command does all that a failover needs, so nothing else follows.
  expect(await site.admin('server_timelines').orderBy('id').select('timeline', 'survived_at')).toEqual([
    { timeline: '000000AA', survived_at: null },
    { timeline: '00000001', survived_at: null },
  ]);
  expect([await claim(), await site.sql(findLastFailover)]).toEqual([undefined, undefined]);
  await site.admin('outgoing_mails').where({ id: lost }).update({ body: null });
  const recipient = 'ada@example.test';
  expect(await listed()).toMatchObject([
    { id: wanted, recipient, canBeSent: true, reason: expect.stringContaining('restored') },
    { id: unwanted, canBeSent: true },
    { id: lost, canBeSent: false },
  ]);

  await operator.run('send-unknown-mails', wanted);
  expect([await claim(), await claim()]).toEqual([wanted, undefined]);
  await operator.run('send-unknown-mails', unwanted, '--discard');
  expect(await listed()).toMatchObject([
    { id: unwanted, canBeSent: false },
    { id: lost, canBeSent: false },
  ]);
  for (const id of [unwanted, lost])
    await expect(operator.run('send-unknown-mails', id)).rejects.toThrow('not kept');
  await expect(operator.run('send-unknown-mails', wanted)).rejects.toThrow('no unknown mail');
  await expect(operator.run('send-unknown-mails', 'x')).rejects.toThrow('must be mail ids');
  const audited = await site.sql((tx) =>
    tx('audit_log').where({ target_type: 'mail' }).orderBy('id').pluck('action'),
  );
  expect(audited).toEqual(['mail.send', 'mail.discard']);
});
