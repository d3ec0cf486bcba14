// Questions to the built-in model, generated from a fixed seed, and what a plain loop over the rows says to
// them. The model may decline; what it answers has to be right. Questions with a word that changes their
// meaning in a way that it doesn't know must be declined.
import { beforeAll, describe, expect, it } from 'vitest';
import type { ModelTool } from '../../../src/gateways/model/model.ts';
import type { InvoiceRow } from '../../public/fixture.ts';
import { createRandom } from '../../setup/random.ts';
import { useOrganization } from '../../setup/use-organization.ts';
import { ask, openOrders } from './ask.ts';

const questionCount = 200;

const { below: random, pick } = createRandom(20_261_122);

type Row = {
  number: string;
  status: string;
  cents: number | null;
  seq: number;
  paid: boolean;
  day: string;
  customer: string | null;
};
const statuses = ['Order : Open', 'Order : Paid In Full', 'Order : Pending'];
const customers = ['CUST1001', 'CUST1002', 'Nord Light', 'Miller', null];
const toDay = (index: number): string => new Date(Date.UTC(2026, 0, 1 + index)).toISOString().slice(0, 10);
const amount = (cents: number): string =>
  `${Math.trunc(cents / 100)}.${String(cents % 100).padStart(2, '0')}`;
const rows: readonly Row[] = Array.from({ length: 90 }, (_none, index) => ({
  number: `ORD-${index}`,
  status: pick(statuses),
  cents: random(10) === 0 ? null : random(100_000),
  seq: random(50),
  paid: random(2) === 0,
  day: toDay(random(90)),
  customer: pick(customers),
}));

type Condition = { readonly words: string; readonly field: string; readonly isMet: (row: Row) => boolean };
const of = (field: string, words: string, isMet: Condition['isMet']): Condition => ({ field, words, isMet });
const state = (status: string): string => status.replace('Order : ', '').toLowerCase();

/** Conditions in front of the noun, after it, and those that may only be the last one. */
const before = (): Condition => {
  const status = pick(statuses);
  return pick([
    of('status', state(status), (row) => row.status === status),
    of('paid', 'paid', (row) => row.paid),
  ]);
};
const after = (): Condition => {
  const cents = random(100_000);
  const [low, high] = [toDay(random(45)), toDay(45 + random(45))];
  const seq = random(50);
  const customer = pick(['CUST1001', 'CUST1002', 'Nord Light', 'Miller']);
  const number = pick(rows).number;
  const has = (row: Row, test: (known: number) => boolean): boolean => row.cents !== null && test(row.cents);
  return pick([
    of('total', `over ${amount(cents)}`, (row) => has(row, (known) => known > cents)),
    of('total', `with a total of at most ${amount(cents)}`, (row) => has(row, (known) => known <= cents)),
    of('total', `whose total is under ${amount(cents)}`, (row) => has(row, (known) => known < cents)),
    of('total', `between 100 and ${amount(10_000 + cents)}`, (row) =>
      has(row, (known) => known >= 10_000 && known <= 10_000 + cents),
    ),
    of('seq', `with seq >= ${seq}`, (row) => row.seq >= seq),
    of('seq', `with a seq of ${seq}`, (row) => row.seq === seq),
    of('date', `since ${low}`, (row) => row.day >= low),
    of('date', `before ${high}`, (row) => row.day < high),
    of('date', `after ${low}`, (row) => row.day > low),
    of('date', `from ${low} to ${high}`, (row) => row.day >= low && row.day <= high),
    of('date', `on ${low}`, (row) => row.day === low),
    of('date', 'in February 2026', (row) => row.day.startsWith('2026-02')),
    of('customer', `of customer "${customer}"`, (row) => row.customer === customer),
    of('customer', `for "${customer.toLowerCase()}"`, (row) => row.customer === customer),
    of('number', `with a number containing "${number.slice(0, 5)}"`, (row) =>
      row.number.includes(number.slice(0, 5)),
    ),
  ]);
};
const last = (): Condition => {
  const status = pick(statuses);
  return pick([
    of('status', `that are ${state(status)}`, (row) => row.status === status),
    of('status', `that are not ${state(status)}`, (row) => row.status !== status),
    of('status', `with status ${state(status)}`, (row) => row.status === status),
    of('paid', 'that are not paid', (row) => !row.paid),
  ]);
};

type Subject = {
  readonly words: string;
  readonly found: readonly Row[];
  readonly conditions: readonly Condition[];
};
/**
 * `open orders since 2026-01-05 over 500` and the rows that this means; each field has at most one condition.
 */
function subject(noun = 'orders'): Subject {
  const all: Condition[] = [];
  const add = (condition: Condition): string => {
    if (all.some(({ field }) => field === condition.field)) return '';
    all.push(condition);
    return condition.words;
  };
  const parts = [
    random(3) === 0 ? add(before()) : '',
    noun,
    ...Array.from({ length: random(3) }, () => add(after())),
  ];
  if (random(3) === 0) parts.push(add(last()));
  return {
    words: parts.filter((part) => part !== '').join(' '),
    found: rows.filter((row) => all.every(({ isMet }) => isMet(row))),
    conditions: all,
  };
}

type Case = { readonly question: string; readonly isRight: (text: string) => boolean };
const cents = (list: readonly Row[]): readonly number[] => list.flatMap((row) => row.cents ?? []);
/** The number after the colon or `is` that ends the conditions. */
const numberIn = (text: string): number =>
  Number(
    /(?:: | is )(-?[\d.]+), over \d+ orders?(?: \(\d+ have a value\))?\.?$/.exec(text)?.[1] ?? Number.NaN,
  );
const listed = (text: string): readonly string[] =>
  [...text.matchAll(/^- (ORD-\d+):/gm)].map(([, number = '']) => number);
const counts = (text: string, count: number): boolean =>
  new RegExp(`(?:^|: | of )${count} orders?\\b`).test(text);

const forms: readonly (() => Case)[] = [
  () => {
    const { words, found } = subject();
    const start = pick(['How many', 'What is the number of', 'Count']);
    return { question: `${start} ${words}?`, isRight: (text) => text.startsWith(`${found.length} order`) };
  },
  () => {
    const { words, found } = subject();
    return {
      question: `Are there any ${words}?`,
      isRight: (text) => text.startsWith(`${found.length > 0 ? 'Yes' : 'No'}: ${found.length} order`),
    };
  },
  () => {
    const { words, found } = subject();
    const [name, value] = pick([
      ['sum', (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0)],
      ['average', (list: readonly number[]) => list.reduce((sum, one) => sum + one, 0) / list.length],
      ['highest', (list: readonly number[]) => Math.max(...list)],
      ['lowest', (list: readonly number[]) => Math.min(...list)],
    ] as const);
    const known = cents(found);
    const isNear = (text: string): boolean => Math.abs(numberIn(text) - value(known) / 100) < 0.000_002;
    return {
      question: `What is the ${name}${name === 'sum' ? ' of the' : ''} total of ${words}?`,
      isRight: (text) =>
        found.length === 0
          ? /^None|empty|over 0 orders/.test(text)
          : known.length === 0
            ? /empty/.test(text)
            : isNear(text),
    };
  },
  () => {
    const { words, found } = subject();
    return {
      question: `List ${words}`,
      isRight: (text) =>
        found.length === 0
          ? text.startsWith('None')
          : counts(text, found.length) &&
            listed(text).every((number) => found.some((row) => row.number === number)),
    };
  },
  () => {
    const { words, found } = subject();
    const wanted = 1 + random(5);
    const sorted = [...found].sort((a, b) => (b.cents ?? -1) - (a.cents ?? -1)).slice(0, wanted);
    return {
      question: `Show the ${wanted} largest ${words}`,
      isRight: (text) => {
        const shown = listed(text).map((number) => rows.find((row) => row.number === number)?.cents);
        return found.length === 0
          ? text.startsWith('None')
          : JSON.stringify(shown) === JSON.stringify(sorted.map((row) => row.cents));
      },
    };
  },
  () => {
    const { words, found } = subject();
    const groups = Map.groupBy(found, ({ status }) => status);
    const isGrouped = (text: string): boolean =>
      [...groups].every(([value, list]) => text.includes(`- ${value}: ${list.length} order`)) &&
      text.split('\n- ').length === groups.size + 1;
    return {
      question: `How many ${words} per status?`,
      isRight: (text) => (found.length === 0 ? text.startsWith('None') : isGrouped(text)),
    };
  },
  () => {
    const row = pick(rows);
    const [words, value] = pick([
      ['status', row.status],
      ['customer', row.customer ?? 'empty'],
      ['date', row.day],
      ['seq', String(row.seq)],
    ] as const);
    return {
      question: `What is the ${words} of order ${row.number}?`,
      isRight: (text) => text.includes(value) && text.includes(row.number),
    };
  },
  () => {
    const row = pick(rows);
    const status = pick(statuses);
    return {
      question: `Is order ${row.number} ${state(status)}?`,
      isRight: (text) => text.startsWith(row.status === status ? 'Yes' : 'No'),
    };
  },
];

/** Changes of meaning that the model doesn't know. */
const unknown = [
  'overdue',
  'only',
  'except',
  'unless',
  'half',
  'never',
  'or',
  'either',
  'neither',
  'nor',
  'again',
  'almost',
  'foreign',
  'not',
  'median',
  'shipped',
  'excluding',
  'twice',
  '%',
  'ORD-1',
];
const endings = [
  'or open',
  'or paid',
  'with a discount over 5',
  'and customers',
  'with status open and status pending',
  'that were paid in February 2026',
  'that are not paid over 500',
  'per customer per status',
  'not over 500',
  'not since 2026-02-01',
  'but not pending',
  'than in January 2026',
  'since 2026-01-05 and on 2026-02-01',
  'over 1.000',
  'over 3 days',
  'with more than 3 lines',
  'between 2025 and 2026',
  'of 2026',
  'from 2026-01-05',
  'until February 2026',
  'until they are paid',
  'by 10 percent',
];

const misleading: readonly (() => string)[] = [
  () => {
    // In front of "orders" only, so that no word of a longer name or state is split.
    const { question } = pick(forms.slice(0, 6))();
    return question.replace(/\borders\b/, `${pick(unknown)} orders`);
  },
  () => `How many orders ${pick(endings)}?`,
  () =>
    `${pick(['How many', 'List', 'What is the average total of'])} ${pick(['open', 'pending', ''])} orders ${pick(endings)}`,
  () => {
    const { question } = pick(forms.slice(0, 6))();
    return `${question.replace('?', '')} ${pick(unknown)}`;
  },
];

const org = useOrganization();
let tools: readonly ModelTool[];
beforeAll(async () => {
  const stored = rows.map(
    (row, index): InvoiceRow => ({
      ...{ id: 9_000 + index, tranid: row.number, status: row.status, seq: String(row.seq), paid: row.paid },
      ...{ total: row.cents === null ? null : amount(row.cents), trandate: row.day },
      ...{ entity: row.customer === null ? null : `1${row.customer.length}`, entityName: row.customer },
      lastmodified: '2026-05-01T10:00:00Z',
    }),
  );
  tools = await openOrders(org.ctx, org.id, stored);
});

describe('generated questions', () => {
  it(`${questionCount} with known words are answered, none wrongly`, async () => {
    const wrong: string[] = [];
    const declined: string[] = [];
    for (let index = 0; index < questionCount; index += 1) {
      const { question, isRight } = (forms[index % forms.length] as () => Case)();
      const { reason, text } = await ask(question, tools);
      if (reason !== 'complete') declined.push(`${question} → ${text.split('\n')[0]}`);
      else if (!isRight(text)) wrong.push(`${question} → ${text}`);
    }
    expect(wrong).toEqual([]);
    expect(declined.length).toBeLessThan(questionCount * 0.1);
  });

  it(`${questionCount} with words that change their meaning are declined`, async () => {
    const answered: string[] = [];
    for (let index = 0; index < questionCount; index += 1) {
      const question = (misleading[index % misleading.length] as () => string)();
      const { reason, text } = await ask(question, tools);
      if (reason === 'complete') answered.push(`${question} → ${text.split('\n')[0]}`);
    }
    expect(answered).toEqual([]);
  });
});
