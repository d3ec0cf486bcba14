// From a question to the words that answer it: finds the one reading that the question has, asks back where it has several, and
// declines where it has none.
import { answerReading } from './answers.ts';
import { mentions, type Resource, resourceOf } from './catalog.ts';
import type { Data } from './data.ts';
import { AskBack, NotRead } from './draft.ts';
import { declined, describeOne, examplesFor, isAboutAll, isAboutOne, overview } from './guide.ts';
import { longestQuestion, type Marked, markQuestion } from './language.ts';
import { type Reading, readQuestion } from './reading.ts';

type Attempt = { readonly reading: Reading } | { readonly question: string } | { readonly unread: string };
type Known = { readonly data: Data; readonly names: readonly string[]; load(name: string): Promise<Resource> };

const mostResources = 5;

async function attempt({ data, load }: Known, marked: Marked, name: string): Promise<Attempt> {
  try {
    return { reading: await readQuestion(marked, await load(name), data) };
  } catch (error) {
    if (error instanceof AskBack) return { question: error.message };
    if (error instanceof NotRead) return { unread: error.message };
    throw error;
  }
}

async function examples({ load }: Known, name: string | undefined): Promise<readonly string[]> {
  return name === undefined ? [] : examplesFor(await load(name));
}

const shortest = (texts: readonly string[]): string => [...texts].sort((a, b) => a.length - b.length)[0] ?? '';

/** One statement about one resource, or about one of those that it mentions. */
async function read(known: Known, marked: Marked, mentioned: readonly string[]): Promise<Attempt> {
  const attempts = await Promise.all(mentioned.slice(0, mostResources).map((name) => attempt(known, marked, name)));
  const readings = attempts.filter((found) => 'reading' in found);
  const [first, ...others] = readings;
  if (others.length > 0) {
    const names = readings.map(({ reading }) => reading.resource.many).join(' or ');
    return { question: `This could be asked about ${names}: which is meant?` };
  }
  if (first !== undefined) return first;
  return (
    attempts.find((found) => 'question' in found) ?? {
      unread: shortest(attempts.flatMap((found) => ('unread' in found ? [found.unread] : []))),
    }
  );
}

const comparison = /^ (?:are|is|were|was) there (?<way>more|fewer|less) (?<left>.+) than (?<right>.+) $/;

const fieldsOf = ({ resource, filters }: Reading): string =>
  resource.fields.flatMap(({ name, filters: known }) => (Object.keys(filters).some((filter) => known.has(filter)) ? [name] : [])).join();

/** `are there more … than …`: two counts. Undefined when it is no such question. */
async function compare(known: Known, marked: Marked, mentioned: readonly string[]): Promise<Reply | undefined> {
  const parts = comparison.exec(marked.text)?.groups;
  const [name] = mentioned;
  if (parts === undefined || name === undefined || mentioned.length > 1) return undefined;
  const counted = await Promise.all(
    [parts['left'] ?? '', parts['right'] ?? ''].map(async (side) => {
      const words = mentions(` ${side} `, name) ? side : `${name} ${side}`;
      const found = await read(known, { ...marked, text: ` how many ${words} ` }, [name]);
      if (!('reading' in found) || found.reading.asked.kind !== 'count') return undefined;
      const { resource, filters, said } = found.reading;
      return { fields: fieldsOf(found.reading), said, count: (await known.data.aggregate({ resource: resource.name, filters })).count };
    }),
  );
  const [left, right] = counted;
  if (left === undefined || right === undefined) return undefined;
  // "More open invoices in July than in August": open ones there, too?
  if (left.fields !== right.fields && Math.max(left.said.length, right.said.length) > 1)
    return noAnswer('This can be read in two ways. Write the same kinds of conditions on both sides of "than".');
  const isSo = parts['way'] === 'more' ? left.count > right.count : left.count < right.count;
  const side = ({ count, said }: typeof left): string => `${count}${said.length === 0 ? '' : ` where ${said.join(' and ')}`}`;
  return answer(`${isSo ? 'Yes' : 'No'}: ${side(left)}, against ${side(right)}.`);
}

/** `isAnswer` is false where it declines or asks back. */
export type Reply = { readonly text: string; readonly isAnswer: boolean };
const answer = (text: string): Reply => ({ text, isAnswer: true });
const noAnswer = (text: string): Reply => ({ text, isAnswer: false });

/** `today` as YYYY-MM-DD. Throws ToolRefused. */
export async function replyTo(data: Data, question: string, today: string): Promise<Reply> {
  const names = (await data.resources()).map(({ resource }) => resource);
  const loaded = new Map<string, Promise<Resource>>();
  const known: Known = {
    data,
    names,
    load: (name) => {
      const held = loaded.get(name) ?? data.describe(name).then(resourceOf);
      loaded.set(name, held);
      return held;
    },
  };
  if (question.trim().length > longestQuestion)
    return noAnswer(
      `Questions of more than ${longestQuestion} characters are too long for me.\n${overview(names, await examples(known, names[0]))}`,
    );
  const marked = markQuestion(question, today);
  if (isAboutAll(marked)) return answer(overview(names, await examples(known, names[0])));
  const mentioned = names.filter((name) => mentions(marked.text, name));
  const described = names.find((name) => isAboutOne(marked, name));
  if (described !== undefined) return answer(await describeOne(data, await known.load(described)));
  const compared = await compare(known, marked, mentioned);
  if (compared !== undefined) return compared;
  const found: Attempt = mentioned.length === 0 ? { unread: '' } : await read(known, marked, mentioned);
  if ('reading' in found) return answer(await answerReading(data, found.reading));
  if ('question' in found) return noAnswer(found.question);
  return noAnswer(declined(found.unread, names, await examples(known, mentioned[0] ?? names[0])));
}
