// Names of the operations and components of a description, such as `listInvoices`, `getInvoice` and `Invoice`
// for the resource `invoices`, and the words for its summaries. Deterministic, unique within a document, and
// identifiers for every valid resource name. Pure.

export type EndpointNames = {
  readonly operations: {
    readonly list: string;
    readonly get: string;
    readonly changes: string;
    readonly summary?: string;
  };
  readonly components: {
    readonly record: string;
    readonly page: string;
    readonly change: string;
    readonly upsert: string;
    readonly deletion: string;
    readonly summary?: string;
    readonly summaryRow?: string;
  };
  readonly summaries: {
    readonly list: string;
    readonly get: string;
    readonly changes: string;
    readonly summary?: string;
  };
};

const irregular: Readonly<Record<string, string>> = {
  analyses: 'analysis',
  axes: 'axis',
  caches: 'cache',
  children: 'child',
  cookies: 'cookie',
  crises: 'crisis',
  criteria: 'criterion',
  excuses: 'excuse',
  halves: 'half',
  indices: 'index',
  leaves: 'leaf',
  lives: 'life',
  matrices: 'matrix',
  men: 'man',
  menus: 'menu',
  movies: 'movie',
  people: 'person',
  quizzes: 'quiz',
  shelves: 'shelf',
  shoes: 'shoe',
  skus: 'sku',
  women: 'woman',
};
const unchanging = new Set(
  'alias analytics atlas bias canvas chaos earnings economics goods headquarters lens logistics means news premises proceeds series species statistics'.split(
    ' ',
  ),
);
/** The first rule that matches decides. */
const rules: readonly (readonly [ending: RegExp, replacement: string])[] = [
  [/(ss|us|is)$/, '$1'],
  [/(^.ie)s$/, '$1'],
  [/([^aeiou])ies$/, '$1y'],
  [/(ss|sh|ch|x|zz|alias|bias|canvas|atlas|lens|[^ao]us)es$/, '$1'],
  [/([^aeiou]o)es$/, '$1'],
  [/s$/, ''],
];

/**
 * The singular of a lower-case English noun: `invoices` → `invoice`. A word that is not a plural, or has at
 * most three letters, is unchanged.
 */
export function toSingular(plural: string): string {
  if (Object.hasOwn(irregular, plural)) return irregular[plural] ?? plural;
  if (plural.length <= 3 || unchanging.has(plural)) return plural;
  const rule = rules.find(([ending]) => ending.test(plural));
  return rule === undefined ? plural : plural.replace(...rule);
}

const startsWithVowelSound =
  /^(?!eu|one\b|once|uni(?!n)|us[aei]|uti|ur[ae]|uk\b)(?:[aeiou]|hours?\b|honou?r|heir)/;
const withArticle = (words: string): string => `${startsWithVowelSound.test(words) ? 'an' : 'a'} ${words}`;

const pascalCase = (words: readonly string[]): string =>
  words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');

type Names = Pick<EndpointNames, 'operations' | 'components'>;

function buildNames(plural: string, singular: string): Names {
  return {
    operations: { list: `list${plural}`, get: `get${singular}`, changes: `list${singular}Changes` },
    components: {
      record: singular,
      page: `${singular}Page`,
      change: `${singular}Change`,
      upsert: `${singular}Upsert`,
      deletion: `${singular}Deletion`,
    },
  };
}

/** The names of an endpoint that also has a summary. */
const withSummary = ({ operations, components }: Names, plural: string, singular: string): Names => ({
  operations: { ...operations, summary: `summarize${plural}` },
  components: { ...components, summary: `${singular}Summary`, summaryRow: `${singular}SummaryRow` },
});

/** What to call an endpoint, best first: `getInvoicesRecord` if `getInvoice` is taken, then numbers. */
function* candidates(plural: string, singular: string, hasSummary: boolean): Generator<Names, never> {
  const named = (all: string, one: string): Names =>
    hasSummary ? withSummary(buildNames(all, one), all, one) : buildNames(all, one);
  yield named(plural, singular);
  yield named(plural, `${plural}Record`);
  for (let n = 2; ; n += 1) yield named(`${plural}_${n}`, `${singular}_${n}`);
}

function buildSummaries(
  words: readonly string[],
  singular: readonly string[],
  hasSummary: boolean,
): EndpointNames['summaries'] {
  const [all, one] = [words.join(' '), singular.join(' ')];
  return {
    list: `List ${all}`,
    get: `Retrieve ${withArticle(one === all ? `${all} record` : one)}`,
    changes: `List changes to ${all}`,
    ...(hasSummary && { summary: `Summarize ${all}` }),
  };
}

/**
 * The names by resource. On a clash the resource that comes first keeps its names. Names differ in more than
 * their case, so that generated files do too; `reserved` holds the names of other components, `summarized`
 * the resources that have a summary.
 */
export function endpointNames(
  resources: readonly string[],
  reserved: readonly string[],
  summarized: ReadonlySet<string> = new Set(),
): ReadonlyMap<string, EndpointNames> {
  const taken = new Set(reserved.map((name) => name.toLowerCase()));
  const found = new Map<string, EndpointNames>();
  for (const resource of resources) {
    const words = resource.split('-').filter((word) => word !== '');
    const singular = words.map((word, index) => (index === words.length - 1 ? toSingular(word) : word));
    for (const names of candidates(pascalCase(words), pascalCase(singular), summarized.has(resource))) {
      const all = [...Object.values(names.operations), ...Object.values(names.components)].map((name) =>
        name.toLowerCase(),
      );
      if (all.some((name) => taken.has(name))) continue;
      for (const name of all) taken.add(name);
      found.set(resource, { ...names, summaries: buildSummaries(words, singular, summarized.has(resource)) });
      break;
    }
  }
  return found;
}
