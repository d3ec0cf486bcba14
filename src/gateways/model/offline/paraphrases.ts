// How people ask about money before they know any field: who owes what, revenue, the best customers. Each is
// the question in the words of the forms, for the fields of an invoice; words that it doesn't replace stay,
// and have to be understood like all others.
import { compile, type Resource } from './tools.ts';

const state = '(?:unpaid|outstanding|overdue|past due)';
/** Days would say when something was owed, which no field records. */
const rest = '(?<rest>(?: (?!<d)[^ ]+)*)';
const clauses = '(?<rest>(?: .*)?)';
const who = '(?:(?:{party}) )?(?<who>.+?)';
const customers = '(?:who|(?:which|what) (?:{party}))';
const revenue = '(?:revenue|sales|turnover)';
const largest = '(?:top|best|biggest|largest|highest|most)';
const best = `(?:(?:who|what|which|show|list) )?(?:(?:is|are) )?${largest}(?<n> <n\\d+>)? (?:{party})`;
const toPay = '(?:left to pay|left to be paid|to be paid|unpaid|outstanding|open|due)';
const words = '(?<before>(?:[^<> ]+ ){0,3}?)';
const owedBy = 'sum {due} of unpaid {many} of {name} $<who>';
const topBy = 'top$<n> sum {total} of {many}$<rest> per {name}';

/** `$<…>` is what the pattern found. */
const table: readonly (readonly [pattern: string, question: string])[] = [
  [
    `how much (?:money )?(?:is|are)(?: still)? (?<state>${state})${rest}`,
    'sum {due} of $<state> {many}$<rest>',
  ],
  [
    '(?:what|which)(?: (?:is|are))(?: still)? (?:open|unpaid|outstanding|due|to pay|left to pay)',
    'show unpaid {many}',
  ],
  ['(?:what|which)(?: (?:is|are))(?: still)? (?:overdue|past due)', 'show overdue {many}'],
  ['how much (?:is|are)(?: still)? (?:open|due|to pay|left to pay)', 'sum {due} of unpaid {many}'],
  [`how much (?:(?:is|are)(?: still)? owed|(?:does|do) (?:{party}) owe)`, 'sum {due} of unpaid {many}'],
  [`(?:how much|what)(?: money)? (?:does|do) ${who}(?: still)? owe`, owedBy],
  [`what is (?:open |outstanding )?balance (?:of|for) ${who}`, owedBy],
  [`does ${who}(?: still)? owe(?: (?:anything|something|money))?`, owedBy],
  [
    `${customers}(?: still)? owes?(?: (?:money|anything|most|most money))?`,
    'top sum {due} of unpaid {many} per {name}',
  ],
  [`${customers} (?:is|are) (?<state>overdue|late|past due)`, 'top count of $<state> {many} per {name}'],
  [
    `${customers} (?:have|has)(?: most)? ${words}(?:{one}|{many})${clauses}`,
    'top count of $<before>{many}$<rest> per {name}',
  ],
  [`${best}(?: by ${revenue})?${clauses}`, topBy],
  [`${best} by (?<f>{fields})${clauses}`, 'top$<n> sum $<f> of {many}$<rest> per {name}'],
  [`${customers} (?:bought|spent|ordered|purchased) most${clauses}`, topBy],
  [
    `(?:(?:what|how much|show) )?(?:(?:is|was|were) )?(?:total )?${revenue}${clauses}`,
    'sum {total} of {many}$<rest>',
  ],
  [`(?:what is )?total (?<f>{fields})${clauses}`, 'sum $<f> of {many}$<rest>'],
  [
    `how much (?:(?:do|did|have|was|were) )?(?:invoiced?|bill(?:ed)?|sell|sold)${clauses}`,
    'sum {total} of {many}$<rest>',
  ],
  [
    `wh(?:at|ich) (?<n>week|month|quarter|year) ha[sd] ${largest} ${revenue}${clauses}`,
    'top sum {total} of {many}$<rest> per $<n>',
  ],
  [
    `(?:how much|what) (?:is|was)(?: still)? ${toPay} (?:on|(?:on|for|of) {one}) (?<n><[vn]\\d+>)`,
    'what is {due} of $<n>',
  ],
  [`how many ${words}(?:{many}) (?:does|do) ${who} have`, 'how many $<before>{many} of {name} $<who>'],
  [
    `(?:show|what is|which is) ${who} (?<n>last|latest|newest|oldest|largest|biggest|smallest) {one}`,
    'show $<n> {one} of {name} $<who>',
  ],
];

/** Each way to ask about invoices in the words of the forms; none for other resources. */
export function paraphrases(text: string, resource: Resource): readonly string[] {
  const { one, many, main, debt, party } = resource;
  if (!/^(?:(?:sales|customer) )?invoice$/.test(one)) return [];
  const name = party?.field.words;
  const known: Readonly<Record<string, string | undefined>> = {
    one,
    many,
    name,
    due: debt.amount?.words,
    total: main.number?.words,
  };
  return table.flatMap(([pattern, question]) => {
    if (party === undefined && pattern.includes('{party}')) return [];
    const match = compile(`^${pattern.replaceAll('{party}', party?.nouns ?? '')}$`, resource).exec(text);
    const needed = [...question.matchAll(/\{(\w+)\}/g)].map(([, key = '']) => known[key]);
    if (match === null || needed.includes(undefined)) return [];
    return [
      question.replaceAll(
        /\{(\w+)\}|\$<(\w+)>/g,
        (_all, key, found) => known[key] ?? match.groups?.[found] ?? '',
      ),
    ];
  });
}
