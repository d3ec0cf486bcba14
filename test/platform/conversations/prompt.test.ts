import { describe, expect, it } from 'vitest';
import type { MessageRow } from '../../../src/platform/conversations/messages.store.ts';
import { creditsToCharge, limitsForCredits, maxCredits } from '../../../src/platform/conversations/price.ts';
import { buildHistory, buildInstructions, deriveTitle } from '../../../src/platform/conversations/prompt.ts';

const row = (
  role: MessageRow['role'],
  content: string,
  status: MessageRow['status'] = 'complete',
): MessageRow => ({
  id: content,
  role,
  content,
  status,
  tool_calls: [],
  error: null,
  input_tokens: 0,
  output_tokens: 0,
  credits: 0,
  unmasked: false,
  created_at: new Date(0),
  finished_at: null,
});
const oldestFirst = [
  row('user', 'q1'),
  row('assistant', 'a1'),
  row('user', 'q2'),
  row('assistant', '', 'failed'),
  row('user', 'q3'),
];

describe('buildHistory', () => {
  it('returns turns, oldest first, with a note for a missing answer', () => {
    const history = buildHistory([row('assistant', 'a3'), ...oldestFirst.toReversed()], 1_000);
    expect(history.map(({ role, content }) => `${role} ${content}`)).toEqual([
      'user q1',
      'assistant a1',
      'user q2',
      'assistant (This was not answered.)',
      'user q3',
      'assistant a3',
    ]);
  });

  it('drops whole turns, oldest first, beyond the limit', () => {
    const long = [
      row('assistant', 'a'.repeat(390)),
      row('user', 'last'),
      row('assistant', 'b'),
      row('user', 'first'),
    ];
    expect(buildHistory(long, 99).map(({ content }) => content)).toEqual(['last', 'a'.repeat(390)]);
    expect(buildHistory(long, 98)).toEqual([]);
    expect(buildHistory(long, 0)).toEqual([]);
  });
});

it('buildInstructions puts the organization’s instructions last, and nothing when there are none', () => {
  const frame = { version: 'v7', today: '2026-03-02' };
  expect(buildInstructions({ ...frame, instructions: ' Be kind. ' })).toMatch(
    /version v7 [\s\S]*2026-03-02[\s\S]*<company-words>\nBe kind\.\n<\/company-words>$/,
  );
  expect(buildInstructions({ ...frame, instructions: ' \n' })).not.toContain('company-words');
});

it.each([
  ['Open invoices?', 'Open invoices?'],
  [' a\n\tb\u2028c  ', 'a b c'],
  [`${'word '.repeat(30)}`, `${'word '.repeat(15).trim()}…`],
  ['x'.repeat(100), `${'x'.repeat(79)}…`],
  ['👍'.repeat(81), `${'👍'.repeat(79)}…`],
])('deriveTitle %j', (content, title) => expect(deriveTitle(content)).toBe(title));

describe('prices', () => {
  const limits = { inputTokens: 9_000, outputTokens: 1_001 };
  it('are 1 credit per started 1,000 tokens, and at most the reserved credits', () => {
    expect(maxCredits('anthropic/x', limits)).toBe(11);
    expect(maxCredits('offline', limits)).toBe(1);
    const spent = (inputTokens: number, outputTokens: number, held = 11) =>
      creditsToCharge({ inputTokens, outputTokens }, held);
    expect([
      spent(0, 0),
      spent(1, 0),
      spent(999, 1),
      spent(1_000, 1),
      spent(50_000, 0),
      spent(5_000, 0, 2),
    ]).toEqual([0, 1, 1, 2, 11, 2]);
  });
  it('limit the tokens when fewer credits are left', () => {
    expect(limitsForCredits(limits, 11)).toEqual(limits);
    const { inputTokens, outputTokens } = limitsForCredits(limits, 2);
    expect(inputTokens + outputTokens).toBeLessThanOrEqual(2_000);
    expect(outputTokens).toBe(200);
  });
});
