// Replies to a question: answers its only reading, asks back if it has several, declines if it has none, or
// says what can be asked.
import { answerReading, where } from './answers.ts';
import { interpret, type Reading, Unclear } from './readings.ts';
import { bothNumbers, normalize, toWords } from './text.ts';
import type { Resource, Tools } from './tools.ts';

/** `isAnswer` is false if it declines or asks back. */
export type OfflineReply = { readonly text: string; readonly isAnswer: boolean };

const maxCharacters = 400;
const maxResources = 8;
const overview =
  /^(?:help|what (?:can|do) (?:do|ask|know)|(?:which|what) (?:resources|data) (?:are there|do have))$/;

function examplesFor({ many, main: { number }, phrases }: Resource): readonly string[] {
  const examples = [
    `How many ${many} are there?`,
    number && `What is the average ${toWords(number.name)} of ${many}?`,
    `Show ${many}`,
    number?.sortable && `Show the 5 largest ${many}`,
    phrases.has('status') && `How many ${many} per status?`,
    `Which fields do ${many} have?`,
  ];
  return [
    'For example:',
    ...examples.filter((example) => typeof example === 'string').map((example) => `- ${example}`),
  ];
}

async function describe(tools: Tools, resource: Resource): Promise<string> {
  const { count } = await tools.aggregate({ resource: resource.name, filters: {} });
  const fields = resource.fields.map(
    ({ name, type, filters }) => `- ${name} (${type})${filters.length > 0 ? ', filter' : ''}`,
  );
  return [
    `${resource.name}: ${resource.description}`,
    `There are ${count}. Their fields:`,
    ...fields,
    ...examplesFor(resource),
  ].join('\n');
}

const readingText = ({ kind, limit, order, field, groupBy, period, resource, filters }: Reading): string =>
  `- ${[kind, limit, order, field?.name, groupBy?.name, period].filter(Boolean).join(' ')}: ${resource.many}${where(filters)}`;

const aboutText = (names: readonly string[], resources: readonly Resource[]): string =>
  [`I can answer questions about: ${names.join(', ')}.`, ...resources.slice(0, 1).flatMap(examplesFor)].join(
    '\n',
  );

const isReading = (one: Reading | Unclear): one is Reading => !(one instanceof Unclear);

const isMentioned = (text: string, resource: string): boolean =>
  [resource.toLowerCase(), ...Object.values(bothNumbers(toWords(resource)))].some((noun) =>
    ` ${text} `.includes(` ${noun} `),
  );

/** `today` is YYYY-MM-DD. Rejects with ToolFailed when a tool fails, Unclear for what isn't computable. */
export async function replyTo(tools: Tools, text: string, today: string): Promise<OfflineReply> {
  const names = await tools.resources();
  const question = normalize(text.slice(0, maxCharacters + 1), today);
  const mentioned = names.filter((name) => isMentioned(question.text, name)).slice(0, maxResources);
  // "Who owes most?" and "is 563614 paid?" don't say which resource they are about.
  const shown = mentioned.length > 0 ? mentioned : names.slice(0, maxResources);
  const resources = await Promise.all(shown.map(tools.describe));
  const about = aboutText(names, resources);
  if (overview.test(question.text)) return { text: about, isAnswer: true };
  const decline = (reason: string): OfflineReply => ({ text: reason, isAnswer: false });
  if (text.length > maxCharacters)
    return decline(`Questions of more than ${maxCharacters} characters are too long for me.\n${about}`);
  const read = async (list: readonly Resource[]) =>
    (await Promise.all(list.map((resource) => interpret({ tools, resource }, question)))).flat();
  const first = await read(resources);
  // "The top customers by revenue" are computed from others.
  const others = !first.some(isReading)
    ? names.filter((name) => !shown.includes(name)).slice(0, maxResources)
    : [];
  const found = [...first, ...(await read(await Promise.all(others.map(tools.describe))))];
  const readings = new Map(found.filter(isReading).map((one) => [readingText(one), one]));
  const [reading] = readings.values();
  if (readings.size > 1) return decline(['Which one do you mean?', ...readings.keys()].join('\n'));
  if (reading?.kind === 'describe') return { text: await describe(tools, reading.resource), isAnswer: true };
  if (reading !== undefined) return { text: await answerReading(tools, reading), isAnswer: true };
  const reason = found.find((one) => one instanceof Unclear)?.message;
  return decline(
    reason ?? `I don't understand this question. I know a fixed set of forms; put names in quotes.\n${about}`,
  );
}
