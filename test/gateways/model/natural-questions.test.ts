// What people ask first, answered by the built-in model: every answer is compared with SQL. Unanswered
// questions are allowed, wrong answers are not.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ModelTool } from '../../../src/gateways/model/model.ts';
import { type TestDatabase, testDatabase } from '../../setup/database.ts';
import { makeOrganization } from '../../setup/organization.ts';
import { ask, createReference } from './ask.ts';
import { openBooks } from './books.ts';
import { misleadingQuestions, naturalQuestions } from './natural-questions.ts';
import { says } from './says.ts';

const minAnswered = 59;

let database: TestDatabase;
let tools: readonly ModelTool[];
let reference: (sql: string) => Promise<string>;

beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

describe.each([false, true])(
  'questions that people ask first, of a version with a summary: %s',
  (declared) => {
    beforeAll(async () => {
      const { id } = await makeOrganization(database.ctx);
      tools = await openBooks(database.ctx, id, ['GBP'], declared);
      reference = await createReference(database.ctx, id);
    });

    it(`at least ${minAnswered} of ${naturalQuestions.length} are answered, none wrongly`, async () => {
      const declined: string[] = [];
      const wrong: string[] = [];
      for (const { ask: question, sql, lists } of naturalQuestions) {
        const expected = (await reference(sql)).split('\n');
        expect(expected.join(), question).not.toBe('');
        const { reason, text } = await ask(question, tools);
        const lines = text.split('\n').filter((line) => line.startsWith('- '));
        const isRight = lists
          ? lines.length === expected.length &&
            expected.every((part, index) => says(lines[index] ?? '', part))
          : expected.every((part) => says(text, part));
        if (reason !== 'complete') declined.push(`${question} → ${text.split('\n')[0]}`);
        else if (!isRight) wrong.push(`${question} → ${text} ≠ ${expected.join(' / ')}`);
      }
      expect(wrong).toEqual([]);
      expect(naturalQuestions).toHaveLength(60);
      expect(naturalQuestions.length - declined.length, declined.join('\n')).toBeGreaterThanOrEqual(
        minAnswered,
      );
    });

    it.each(misleadingQuestions)('is not guessed: %s', async (question) => {
      const { reason, text } = await ask(question, tools);
      expect([reason, text]).toEqual(['declined', expect.any(String)]);
    });
  },
);
