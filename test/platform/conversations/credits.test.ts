// Credits: exact under concurrent messages, reserved before an answer and charged after it, per month.
import { describe, expect, it } from 'vitest';
import { createApp } from '../../../src/app.ts';
import { anthropicDialect, begin, openAiDialect, whole } from '../../gateways/model/provider-server.ts';
import { createApi, refusal } from '../../setup/api.ts';
import { useStarted } from '../../setup/use-started.ts';
import { type Company, inOrganization, openAgentSite, readLedger, stalled, toModel } from './fixture.ts';

/** A message may use 1,000 tokens, which cost one credit; each answer of this provider uses 110 of them. */
const granted = 7;
const dialect = anthropicDialect;
const model = toModel(dialect);

const site = useStarted(() =>
  openAgentSite({ inputTokens: 600, outputTokens: 400 }, { agentCreditsPerMonth: granted }),
);

const readCredits = async (company: Company) =>
  (await company.api('get', '/whoami')).body.metrics.agentCredits;
const ask = (company: Company, conversationId: string) =>
  company.api('post', `/conversations/${conversationId}/messages`, { content: 'How many?' });

it('fifty concurrent messages are answered as far as the credits last; the others are refused', async () => {
  const company = await site.company();
  const conversations = await Promise.all(Array.from({ length: 50 }, () => company.converse(model)));
  site.provider.script(...Array.from({ length: 50 }, () => whole(dialect, [{ text: 'Seven.' }])));
  const answers = await Promise.all(conversations.map(({ conversationId }) => ask(company, conversationId)));
  const [good = [], refused = []] = [201, 403].map((wanted) =>
    answers.filter(({ status }) => status === wanted),
  );
  expect([good.length, refused.length, site.provider.asked.length]).toEqual([granted, 50 - granted, granted]);
  for (const { body } of refused) expect(body.error.message).toBe('Agent credits exhausted');
  for (const { body } of good) expect(body.message).toMatchObject({ credits: 1, status: 'complete' });
  const ledger = await readLedger(site.ctx, company.id);
  const charged = ledger.map(({ message_id: id }) => id).sort();
  expect(charged).toEqual(good.map(({ body }) => body.message.id).sort());
  expect(ledger.reduce((sum, { credits }) => sum + credits, 0)).toBe(granted);
  expect(await readCredits(company)).toMatchObject({ granted, used: granted, remaining: 0 });
  const late = await ask(company, conversations[0]?.conversationId ?? '');
  expect(late.body.error.message).toBe('Agent credits exhausted');
  expect(await refusal(late)).toEqual([403, 'credits_exhausted']);
  // Refused messages stored nothing.
  expect(await inOrganization(site.ctx, company.id, (tx) => tx('conversation_messages').count())).toEqual([
    { count: String(2 * granted) },
  ]);
});

describe('the reservation', () => {
  it('reduces the remaining credits until the message has ended; then only used credits count', async () => {
    const company = await site.company();
    const { conversationId } = await company.converse(model);
    const { answer } = stalled(dialect);
    site.provider.script(answer);
    const stream = await company.stream(conversationId, 'How many?');
    await stream.until(({ event }) => event === 'text');
    expect(await readCredits(company)).toMatchObject({ used: 0, remaining: granted - 1 });
    stream.close();
    await stream.rest().catch(() => undefined);
  });

  it('of the last credits limits the answer to them', async () => {
    const company = await site.company();
    const { conversationId } = await company.converse(model);
    const spend = (credits: number, month: string) =>
      inOrganization(site.ctx, company.id, (tx) =>
        tx.raw(
          `insert into agent_credit_entries (id, organization_id, month, credits, kind) values (gen_random_uuid(), ?, ${month}, ?, 'message')`,
          [company.id, credits],
        ),
      );
    // Credits spent in another month do not count.
    await spend(1_000, "date_trunc('month', now() at time zone 'UTC')::date - interval '1 month'");
    expect(await readCredits(company)).toMatchObject({ used: 0, remaining: granted });
    await spend(granted - 1, "date_trunc('month', now() at time zone 'UTC')::date");
    const agents = { ...site.ctx.settings.agents, inputTokens: 9_000, outputTokens: 1_000 };
    const settings = { ...site.ctx.settings, agents };
    const generous = {
      ...company,
      api: createApi(createApp({ ...site.ctx, settings }), company.secret),
    };
    site.provider.script(whole(dialect, [{ text: 'Seven.' }]), whole(dialect, [{ text: 'Never asked.' }]));
    const { message } = (await ask(generous, conversationId)).body;
    expect(message).toMatchObject({ status: 'complete', credits: 1 });
    expect(site.provider.asked[0]?.body['max_tokens']).toBe(100);
    expect(await readCredits(company)).toMatchObject({ used: granted, remaining: 0 });
    expect((await ask(generous, conversationId)).status).toBe(403);
  });
});

describe.each([anthropicDialect, openAiDialect])('a usage of $provider that cannot be', (other) => {
  it.each([
    ['negative', -1_000_000],
    ['zero', 0],
    ['a fraction', 100.5],
    ['beyond any column', 1_000_000_000_000],
  ])(
    '%s: the answer is stored, costs at least one credit and at most the reserved ones',
    async (_what, tokens) => {
      const company = await site.company();
      const { conversationId } = await company.converse(toModel(other));
      site.provider.script((res) => {
        begin(res);
        res.end(other.open(tokens) + other.part({ text: 'Seven.' }, 0) + other.close('stop', tokens, tokens));
      });
      const { status, body } = await ask(company, conversationId);
      expect([status, body.message?.status, body.message?.credits]).toEqual([201, 'complete', 1]);
      expect(await readCredits(company)).toMatchObject({ granted, used: 1, remaining: granted - 1 });
      const [entry] = await readLedger(site.ctx, company.id);
      expect(entry).toMatchObject({ credits: 1, output_tokens: 2 });
      expect(Number(entry?.input_tokens)).toBeGreaterThan(1_000);
    },
  );
});
