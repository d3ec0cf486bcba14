// Replies to a question: answers it if it has exactly one interpretation, asks for clarification if it has several, and declines if it has
// none.
import { answerInterpretation } from './answers.ts';
import { type CatalogResource, mentions, resourceOf } from './catalog.ts';
import type { DataTools } from './data.ts';
import { NeedsClarification, NotUnderstood } from './draft.ts';
import { declineText, describeOne, examplesFor, isAboutAll, isAboutOne, overviewText } from './guide.ts';
import { type Interpretation, interpretQuestion } from './interpret.ts';
import { type Marked, markQuestion, maxQuestionCharacters } from './language.ts';

type Attempt = { readonly interpretation: Interpretation } | { readonly question: string } | { readonly unread: string };
type Context = { readonly data: DataTools; readonly names: readonly string[]; load(name: string): Promise<CatalogResource> };

const maxResources = 5;

async function tryInterpret({ data, load }: Context, marked: Marked, name: string): Promise<Attempt> {
  try {
    return { interpretation: await interpretQuestion(marked, await load(name), data) };
  } catch (error) {
    if (error instanceof NeedsClarification) return { question: error.message };
    if (error instanceof NotUnderstood) return { unread: error.message };
    throw error;
  }
}

async function examples({ load }: Context, name: string | undefined): Promise<readonly string[]> {
  return name === undefined ? [] : examplesFor(await load(name));
}

const shortest = (texts: readonly string[]): string => [...texts].sort((a, b) => a.length - b.length)[0] ?? '';

/** Interprets the question for each resource that it mentions; exactly one interpretation must fit. */
async function interpretAny(known: Context, marked: Marked, mentioned: readonly string[]): Promise<Attempt> {
  const attempts = await Promise.all(mentioned.slice(0, maxResources).map((name) => tryInterpret(known, marked, name)));
  const interpretations = attempts.filter((found) => 'interpretation' in found);
  const [first, ...others] = interpretations;
  if (others.length > 0) {
    const names = interpretations.map(({ interpretation }) => interpretation.resource.many).join(' or ');
    return { question: `This question could be about ${names}. Which do you mean?` };
  }
  if (first !== undefined) return first;
  return (
    attempts.find((found) => 'question' in found) ?? {
      unread: shortest(attempts.flatMap((found) => ('unread' in found ? [found.unread] : []))),
    }
  );
}

const comparison = /^ (?:are|is|were|was) there (?<way>more|fewer|less) (?<left>.+) than (?<right>.+) $/;

const fieldsOf = ({ resource, filters }: Interpretation): string =>
  resource.fields.flatMap(({ name, filters: known }) => (Object.keys(filters).some((filter) => known.has(filter)) ? [name] : [])).join();

/** Compares two counts: `are there more … than …`. Undefined for any other question. */
async function compare(known: Context, marked: Marked, mentioned: readonly string[]): Promise<OfflineReply | undefined> {
  const parts = comparison.exec(marked.text)?.groups;
  const [name] = mentioned;
  if (parts === undefined || name === undefined || mentioned.length > 1) return undefined;
  const counted = await Promise.all(
    [parts['left'] ?? '', parts['right'] ?? ''].map(async (side) => {
      const words = mentions(` ${side} `, name) ? side : `${name} ${side}`;
      const found = await interpretAny(known, { ...marked, text: ` how many ${words} ` }, [name]);
      if (!('interpretation' in found) || found.interpretation.intent.kind !== 'count') return undefined;
      const { resource, filters, descriptions } = found.interpretation;
      return {
        fields: fieldsOf(found.interpretation),
        descriptions,
        count: (await known.data.aggregate({ resource: resource.name, filters })).count,
      };
    }),
  );
  const [left, right] = counted;
  if (left === undefined || right === undefined) return undefined;
  // In "more open invoices in July than in August" it is unclear whether `open` applies to both sides.
  if (left.fields !== right.fields && Math.max(left.descriptions.length, right.descriptions.length) > 1)
    return noAnswer('This can be read in two ways. Write the same kinds of conditions on both sides of "than".');
  const isSo = parts['way'] === 'more' ? left.count > right.count : left.count < right.count;
  const side = ({ count, descriptions }: typeof left): string =>
    `${count}${descriptions.length === 0 ? '' : ` where ${descriptions.join(' and ')}`}`;
  return answer(`${isSo ? 'Yes' : 'No'}: ${side(left)}, against ${side(right)}.`);
}

/** `isAnswer` is false if it declines or asks for clarification. */
export type OfflineReply = { readonly text: string; readonly isAnswer: boolean };
const answer = (text: string): OfflineReply => ({ text, isAnswer: true });
const noAnswer = (text: string): OfflineReply => ({ text, isAnswer: false });

/** Replies to a question. `today` is YYYY-MM-DD. Rejects with ToolFailed when a tool fails. */
export async function replyTo(data: DataTools, question: string, today: string): Promise<OfflineReply> {
  const names = (await data.resources()).map(({ resource }) => resource);
  const loaded = new Map<string, Promise<CatalogResource>>();
  const known: Context = {
    data,
    names,
    load: (name) => {
      const cached = loaded.get(name) ?? data.describe(name).then(resourceOf);
      loaded.set(name, cached);
      return cached;
    },
  };
  if (question.trim().length > maxQuestionCharacters)
    return noAnswer(
      `Questions of more than ${maxQuestionCharacters} characters are too long for me.\n${overviewText(names, await examples(known, names[0]))}`,
    );
  const marked = markQuestion(question, today);
  if (isAboutAll(marked)) return answer(overviewText(names, await examples(known, names[0])));
  const mentioned = names.filter((name) => mentions(marked.text, name));
  const described = names.find((name) => isAboutOne(marked, name));
  if (described !== undefined) return answer(await describeOne(data, await known.load(described)));
  const compared = await compare(known, marked, mentioned);
  if (compared !== undefined) return compared;
  const found: Attempt = mentioned.length === 0 ? { unread: '' } : await interpretAny(known, marked, mentioned);
  if ('interpretation' in found) return answer(await answerInterpretation(data, found.interpretation));
  if ('question' in found) return noAnswer(found.question);
  return noAnswer(declineText(found.unread, names, await examples(known, mentioned[0] ?? names[0])));
}
