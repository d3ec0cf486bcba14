// Replies to a question: answers it if it has exactly one reading, asks back if it has several, and declines if it has none. Says what can be
// asked, with this version's own names.
import { answerReading, where } from './answers.ts';
import { interpret, type Reading, Unclear } from './readings.ts';
import { bothNumbers, normalize, wordsOf } from './text.ts';
import type { Resource, Tools } from './tools.ts';

/** `isAnswer` is false if it declines or asks back. */
export type OfflineReply = { readonly text: string; readonly isAnswer: boolean };

const maxCharacters = 400;
const maxResources = 5;
const overview =
  /^(?:help|hi|hello|what (?:can|do) (?:do|ask|know)|(?:which|what|show|list) (?:all )?(?:resources|data)(?: (?:are|is|do) (?:there|have))?)$/;

function examplesFor({ one, many, main: { day, number }, identity: [called], phrases }: Resource): readonly string[] {
  const examples = [
    `How many ${many} are there?`,
    day?.filters.includes(`${day.name}_gte`) && `How many ${many} since 2026-01-01?`,
    number && `What is the average ${wordsOf(number.name)} of ${many}?`,
    number?.filters.includes(`${number.name}_gt`) && `Show ${many} over 500`,
    number?.sortable && `Show the 5 largest ${many}`,
    phrases.has('status') && `How many ${many} per status?`,
    called?.filters.includes(called.name) && `Show ${one} <${called.name}>`,
    `Which fields do ${many} have?`,
  ];
  return ['For example:', ...examples.filter((example) => typeof example === 'string').map((example) => `- ${example}`)];
}

async function describe(tools: Tools, resource: Resource): Promise<string> {
  const { count } = await tools.aggregate({ resource: resource.name, filters: {} });
  const fields = resource.fields.map(
    ({ name, type, filters, sortable }) => `- ${name} (${type})${filters.length > 0 ? ', filter' : ''}${sortable ? ', sort' : ''}`,
  );
  return [`${resource.name}: ${resource.description}`, `There are ${count}. Their fields:`, ...fields, ...examplesFor(resource)].join('\n');
}

const readingText = ({ kind, limit, order, field, groupBy, show, resource, filters }: Reading): string => {
  const words = [kind, limit, order, ...[field, groupBy, ...show].map((one) => one?.name)].filter((word) => word !== undefined);
  return `- ${words.join(' ')}: ${resource.many}${where(filters)}`;
};

/** `today` is YYYY-MM-DD. Rejects with ToolFailed when a tool fails. */
export async function replyTo(tools: Tools, text: string, today: string): Promise<OfflineReply> {
  const names = await tools.resources();
  const question = normalize(text.slice(0, maxCharacters + 1), today);
  const isMentioned = (name: string): boolean =>
    [name.toLowerCase(), ...Object.values(bothNumbers(wordsOf(name)))].some((noun) => ` ${question.text} `.includes(` ${noun} `));
  const mentioned = names.filter(isMentioned).slice(0, maxResources);
  const shown = mentioned.length > 0 ? mentioned : names.slice(0, 1);
  const resources = await Promise.all(shown.map(tools.describe));
  const about = [`I can answer questions about: ${names.join(', ')}.`, ...resources.slice(0, 1).flatMap(examplesFor)].join('\n');
  if (overview.test(question.text)) return { text: about, isAnswer: true };
  const decline = (reason: string): OfflineReply => ({ text: reason, isAnswer: false });
  if (text.length > maxCharacters) return decline(`Questions of more than ${maxCharacters} characters are too long for me.\n${about}`);
  const found = (await Promise.all(resources.map((resource) => interpret({ tools, resource }, question)))).flat();
  const readings = new Map(found.flatMap((one) => (one instanceof Unclear ? [] : [[readingText(one), one] as const])));
  const [reading] = readings.values();
  if (readings.size > 1) return decline(['Which one do you mean?', ...readings.keys()].join('\n'));
  if (reading?.kind === 'describe') return { text: await describe(tools, reading.resource), isAnswer: true };
  if (reading !== undefined) return { text: await answerReading(tools, reading), isAnswer: true };
  const reason = found.find((one) => one instanceof Unclear)?.message;
  return decline(reason ?? `I don't understand this question. I know a fixed set of forms; put names in quotes.\n${about}`);
}
