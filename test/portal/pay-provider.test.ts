// What a real provider does to payments of visitors: it refuses amounts that are too small. Against a local Stripe server
// and a simulated account.
import { beforeAll, expect, it } from 'vitest';
import { openPayFixture } from '../platform/pay/pay-fixture.ts';
import { useStarted } from '../setup/use-started.ts';
import { openPayingPortal, type PayingPortal, payForm } from './paying.ts';

const fixture = useStarted(() => openPayFixture());
let portal: PayingPortal;

beforeAll(async () => {
  portal = await openPayingPortal({ ctx: fixture.ctx, app: fixture.app(), api: fixture.api });
});

it('says why the provider refuses an amount, and nothing is held back', async () => {
  const { books } = fixture;
  const ann = await portal.visit('ann@aster.example');
  const id = await books.invoice(1_000);
  await portal.sync([{ id, due: 10 }]);
  const { status, text } = await ann.post('/pay', payForm({ [id]: '0.01' }));
  expect(status).toBe(422);
  expect(text).toContain('The payment provider refused: The amount is smaller than Stripe allows');
  expect((await ann.get('/pay')).text).toContain(`name="amount.${id}" value="10.00"`);
});
