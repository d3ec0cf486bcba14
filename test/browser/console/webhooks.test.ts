// Webhooks, by keyboard: create one, whose secret is shown once, send a test, read the log while its receiver fails and
// afterwards, send again, rotate, disable.
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startReceiver } from '../../platform/webhooks/receiver.ts';
import { makeDue } from '../../setup/jobs.ts';
import { until } from '../../setup/until.ts';
import { choose, press, type, useConsole } from './console-site.ts';

const site = useConsole({ invoices: 5, published: true, usedKey: true, background: true });
let receiver: Awaited<ReturnType<typeof startReceiver>>;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.stop());

it('a webhook is made, tested, looked into, and turned off', { timeout: 240_000 }, async () => {
  const { page, finish } = await site.open('/webhooks');
  await page.getByText('There are no webhooks yet.').waitFor();
  await finish({ name: 'webhooks-none' });
  await press(page, page.getByRole('button', { name: 'New webhook' }));
  await type(page, page.getByLabel('Address'), 'ftp://example.com');
  await type(page, page.getByLabel('Description'), 'Our warehouse');
  await press(page, page.getByRole('checkbox', { name: 'sync.failed' }), { key: 'Space' });
  await press(page, page.getByRole('checkbox', { name: 'invoices' }), { key: 'Space' });
  await choose(page, 'API key', 'Partner portal');
  await press(page, page.getByRole('button', { name: 'Create the webhook' }));
  await page.getByText(/https URL/).waitFor();
  await finish({ name: 'webhooks-new', statuses: [422] });
  await page.getByLabel('Address').fill(receiver.url);
  await press(page, page.getByRole('button', { name: 'Create the webhook' }));
  await page.getByText('Copy it now').waitFor();
  const secret = (await page.locator('.key-secret pre').first().textContent()) ?? '';
  await finish({ name: 'webhooks-secret', statuses: [422] });
  const [made] = (await site.api('get', '/webhooks')).body.data;
  expect(made).toMatchObject({
    ...{ url: receiver.url, description: 'Our warehouse', version: 'v1', resources: ['invoices'] },
    ...{ events: ['records.changed', 'sync.failed'], include: 'none', signature: 'v1', keyId: site.keyId },
  });

  await press(page, page.getByRole('link', { name: 'Go to the webhook' }));
  await page.getByText('There are no messages yet.').waitFor();
  expect(await page.content()).not.toContain(secret);
  receiver.answer = () => (response) =>
    response.writeHead(500, { 'retry-after': '3600' }).end('out of order');
  await press(page, page.getByRole('button', { name: 'Send a test' }));
  await page.getByText('The answer was 500').waitFor();
  await page.getByText('Failing', { exact: true }).waitFor();
  await press(page, page.getByRole('button', { name: 'Details' }));
  await page.getByText('out of order').waitFor();
  await finish({ name: 'webhooks-delivery', statuses: [422] });
  await page.keyboard.press('Escape');
  receiver.answer = () => 204;
  // An hour later.
  await site.arrange((tx) => tx('webhook_endpoints').update({ waits_until: null }));
  await site.arrange((tx) => tx('webhook_messages').update({ due_at: new Date(0) }));
  await site.arrange((tx) => makeDue(tx, 'webhooks'));
  await page.getByText('Delivered', { exact: true }).last().waitFor();
  const [failed, delivered] = await until(async () => receiver.received.length > 1 && receiver.received);
  expect(delivered?.id).toBe(failed?.id);
  new Webhook(secret).verify(delivered?.body ?? '', delivered?.headers as Record<string, string>);
  await press(page, page.getByRole('button', { name: 'Send again: webhook.test' }));
  await until(async () => receiver.received.length > 2);

  await press(page, page.getByRole('button', { name: 'Rotate' }));
  await press(page, page.getByRole('button', { name: 'Make a new secret' }));
  await page.getByText('Copy it now').waitFor();
  expect(await page.locator('.key-secret pre').first().textContent()).not.toBe(secret);
  await press(page, page.getByRole('button', { name: 'I have copied it' }));
  await page.getByText('The former secret ends').waitFor();
  await press(page, page.getByRole('button', { name: 'Edit' }));
  await press(page, page.getByRole('checkbox', { name: 'The first changes in each message' }), {
    key: 'Space',
  });
  await press(page, page.getByRole('button', { name: 'Save' }));
  await page.getByText('The first changes', { exact: true }).waitFor();
  await press(page, page.getByRole('button', { name: 'Disable' }));
  await page.getByRole('button', { name: 'Enable again' }).waitFor();
  await finish({ name: 'webhooks-disabled', statuses: [422] });
  await press(page, page.getByRole('button', { name: 'Delete' }));
  await press(page, page.getByRole('button', { name: 'Delete this webhook' }));
  await page.getByText('There are no webhooks yet.').waitFor();
});

it('who may read webhooks sees them and changes nothing', async () => {
  const url = 'https://example.com/hooks/portal';
  await site.api('post', '/webhooks', { url, events: ['sync.failed'], keyId: site.keyId });
  const { page, finish } = await site.open('/webhooks', { role: ['webhook:read'] });
  await page.getByRole('link', { name: 'example.com/hooks/portal' }).click();
  await page.getByText('There are no messages yet.').waitFor();
  for (const name of ['Send a test', 'Edit', 'Rotate', 'Disable', 'Delete'])
    expect(await page.getByRole('button', { name }).count()).toBe(0);
  await finish({ name: 'webhooks-viewer' });
});
