// The built-in model before the demo's real data: what it answers is right, and what it doesn't know it declines.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelEvent } from '../../../src/gateways/model/model.ts';
import { openOfflineModel } from '../../../src/gateways/model/offline/offline-model.ts';
import { tenantSchema } from '../../../src/warehouse/tenant-schema.ts';
import { testClock } from '../../setup/database.ts';
import { answered, declined } from './questions.ts';
import { type DemoVersion, openDemoVersion } from './version.ts';

let version: DemoVersion;
beforeAll(async () => {
  version = await openDemoVersion();
});
afterAll(() => version.close());

async function ask(content: string) {
  const model = openOfflineModel({ clock: testClock(new Date('2011-08-31T12:00:00Z')) });
  const limits = { steps: 8, outputTokens: 1_000, toolOutputBytes: 20_000, timeMs: 60_000 };
  const request = { instructions: '', messages: [{ role: 'user' as const, content }], tools: version.tools, limits };
  const events: ModelEvent[] = [];
  for await (const event of model.answer({ ...request, signal: new AbortController().signal })) events.push(event);
  const last = events.at(-1);
  if (last?.type !== 'finished') throw new Error('it did not finish');
  return { ...last, calls: events.filter(({ type }) => type === 'tool-started').length };
}

/** The tables that readers see now, each under its record type's name. */
async function reference(sql: string): Promise<string> {
  const { data } = version.ctx.db;
  const schema = tenantSchema(version.tenant.organizationId);
  const { rows: states } = await data.query<{ record_type: string; active_table: string }>(
    `select record_type, active_table from ${schema}.record_state`,
  );
  const tables = states.map(({ record_type: type, active_table: table }) => `"${type}" as (select * from ${schema}."${table}")`);
  const { rows } = await data.query({ text: `with ${tables.join(', ')} ${sql}`, rowMode: 'array' });
  return (rows as unknown[][]).map((row) => row.map(String).join(' | ')).join('\n');
}

it('the answers that are written down are those of the data', async () => {
  const found = await Promise.all(answered.map(({ sql }) => reference(sql)));
  expect(found).toEqual(answered.map(({ known }) => known));
});

describe('questions with a known answer', () => {
  it(`of ${answered.length}, at least 24 are answered and none wrongly`, async () => {
    const replies = await Promise.all(answered.map(async (question) => ({ ...question, ...(await ask(question.ask)) })));
    const told = replies.filter(({ reason }) => reason === 'complete');
    expect(told.filter(({ says, text }) => !says.every((words) => text.includes(words))).map((reply) => [reply.ask, reply.text])).toEqual(
      [],
    );
    expect(told.filter(({ calls }) => calls === 0)).toEqual([]);
    expect(told.length).toBeGreaterThanOrEqual(24);
    expect(answered.length).toBe(30);
  });
});

describe('questions that it must not answer', () => {
  it.each(declined)('%s', async (question) => {
    const { reason, text } = await ask(question);
    expect([reason, text]).toEqual([
      'declined',
      expect.stringMatching(/I don't understand|Which|two ways|not known|never above zero|can't both/),
    ]);
  });
});

it('says what it can be asked, by this version’s own names', async () => {
  const overview = await ask('What can you do?');
  for (const words of ['invoices, customers, items, credit-memos', 'Show the 5 largest invoices']) expect(overview.text).toContain(words);
  const fields = await ask('What can you tell me about credit memos?');
  for (const words of ['There are 372', 'customerName (text), filter']) expect(fields.text).toContain(words);
  const examples = [...`${overview.text}\n${fields.text}`.matchAll(/^- (.+[?\d])$/gm)].map(([, example = '']) => example);
  expect(examples.length).toBeGreaterThan(10);
  const replies = await Promise.all(examples.map(ask));
  const kept = replies.filter(({ reason, text }) => reason !== 'complete' && !text.includes('never above zero'));
  expect(kept).toEqual([]);
});
