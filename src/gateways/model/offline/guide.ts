// What the offline model says about itself: declines questions that it doesn't understand, and shows, with this version's own names, what
// it can be asked.
import { type CatalogResource, identityFields, mainAmount, mainDay, markResource, namesOf } from './catalog.ts';
import type { DataTools } from './data.ts';
import type { Marked } from './language.ts';

const maxResourcesNamed = 20;
const maxFieldsNamed = 60;

/** Example questions that are understood for this resource. */
export function examplesFor(resource: CatalogResource): readonly string[] {
  const { many } = resource;
  const [amount, day, [called]] = [mainAmount(resource), mainDay(resource), identityFields(resource)];
  const state = resource.fields.find(({ name, filters }) => name === 'status' && filters.has(name));
  return [
    `How many ${many} are there?`,
    ...(day?.filters.has(`${day.name}_gte`) === true ? [`How many ${many} since 2026-01-01?`] : []),
    ...(amount === undefined ? [] : [`What is the average ${amount.name} of ${many}?`]),
    ...(amount?.filters.has(`${amount.name}_gt`) === true ? [`Show ${many} over 500`] : []),
    ...(amount?.sortable === true ? [`Show the 5 largest ${many}`] : []),
    ...(day?.sortable === true ? [`Show the 5 newest ${many}`] : []),
    ...(state === undefined ? [] : [`How many ${many} per ${state.name}?`]),
    ...(called?.filters.has(called.name) === true ? [`Show ${resource.one} <${called.name}>`] : []),
    `Which fields do ${many} have?`,
  ];
}

const list = (names: readonly string[]): string =>
  names.length > maxResourcesNamed
    ? `${names.slice(0, maxResourcesNamed).join(', ')} and ${names.length - maxResourcesNamed} more`
    : names.join(', ');

export const overviewText = (names: readonly string[], examples: readonly string[]): string =>
  [
    names.length === 0 ? 'This version has no resources.' : `I can answer questions about: ${list(names)}.`,
    ...(examples.length === 0 ? [] : ['For example:', ...examples.map((example) => `- ${example}`)]),
  ].join('\n');

export const declineText = (words: string, names: readonly string[], examples: readonly string[]): string =>
  [
    words === '' ? "I don't understand this question." : `I don't understand this question: "${words}" means nothing to me here.`,
    'I am a built-in model that knows a fixed set of question forms and makes nothing up.',
    overviewText(names, examples),
  ].join('\n');

const asksForAll =
  /^ (?:help|hi|hello|(?:what|which) (?:can|do|could) (?:you|i|we) (?:do|answer|know|ask)(?: you| me)?|(?:what|which|show|list) (?:me )?(?:all )?(?:the )?(?:resources?|data|record types|lists|tables|information)(?: (?:are there|do you have|do you know|can i ask about|is there|are available|exist|is available|can you read|do we have))?) $/;
const asksForOne =
  /^ (?:please )?(?:describe (?:the )?<[rR]>|(?:tell me|what can you tell me|what do you know|what can i ask(?: you)?) about (?:the |an? )?<[rR]>|(?:which|what|show|list) (?:me )?(?:the )?(?:fields?|columns|filters)(?: (?:does|do|of|for|has|have|are|in|are in))? (?:the |an? )?<[rR]>(?: have| has)?|what (?:is|are) (?:the )?(?:fields|columns|filters) (?:of|in|for) (?:the |an? )?<[rR]>|what (?:fields|columns|filters) are (?:there )?(?:in|for|of) (?:the )?<[rR]>) $/;

export const isAboutAll = ({ text }: Marked): boolean => asksForAll.test(text);
export const isAboutOne = ({ text }: Marked, name: string): boolean => asksForOne.test(markResource(text, namesOf(name)));

/** Describes a resource: how many records, which fields, and examples. Rejects with ToolFailed when a tool fails. */
export async function describeOne(data: DataTools, resource: CatalogResource): Promise<string> {
  const { count } = await data.aggregate({ resource: resource.name, filters: {} });
  const fields = resource.fields.slice(0, maxFieldsNamed).map(({ name, type, filters, sortable, lineFields }) => {
    const can = [...(filters.size > 0 ? ['filter'] : []), ...(sortable ? ['sort'] : [])];
    const inside = lineFields.length === 0 ? '' : `: ${lineFields.join(', ')}`;
    return `- ${name} (${type}${inside})${can.length === 0 ? '' : `, ${can.join(' and ')}`}`;
  });
  const left = resource.fields.length - fields.length;
  return [
    `${resource.name}: ${resource.description}`.trim(),
    `There are ${count}. Their fields:`,
    ...fields,
    ...(left > 0 ? [`- and ${left} more`] : []),
    'For example:',
    ...examplesFor(resource).map((example) => `- ${example}`),
  ].join('\n');
}
