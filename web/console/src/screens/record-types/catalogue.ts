// The list of record types as a whole: read in pages of 100, kept for a minute, and searched and filtered
// here, so that hundreds of types answer at once and cost few requests.
import { signal } from '@preact/signals';
import { type Answer, api, type Item } from '../../api.ts';
import { readPages, useRead } from '../../query.ts';
import { base } from '../../router.ts';

const listPath = '/connections/{connection}/metadata';
type Page = Answer<typeof listPath>;
export type Head = Item<typeof listPath>;
export type Catalogue = Pick<Page, 'refreshedAt' | 'lastError' | 'notListed'> & {
  readonly heads: readonly Head[];
};

const pageSize = 100;
const maxAgeMs = 60_000;

/** Of the record types of a connection; without a name, of the first one. */
export const listAddress = (connection: string): string =>
  `${base}/record-types${connection && `?connection=${connection}`}`;

/** The records that the ERP counts, by record type; null where it can't count them. */
export const recordCounts = signal<ReadonlyMap<string, number | null>>(new Map());

async function readCatalogue(connection: string): Promise<Catalogue> {
  const readPage = async (page: number): Promise<Page> => {
    const params = { path: { connection }, query: { page, pageSize } };
    const { data } = await api.GET(listPath, { params });
    if (data === undefined) throw new Error('The list has no body');
    return data;
  };
  const [first, ...others] = await readPages(readPage);
  return { ...first, heads: [first, ...others].flatMap(({ data }) => data) };
}

/** Of the connection of this name; undefined while it isn't known. */
export const useCatalogue = (connection = '') =>
  useRead(connection && `${listPath} all ${connection}`, () => readCatalogue(connection), { maxAgeMs });

/** Has the ERP count the records of these types, at most 100. Rejects with an ApiError. */
export async function countRecords(connection: string, names: readonly string[]): Promise<void> {
  const query = { names: names.join(), counts: true, pageSize };
  const { data } = await api.GET(listPath, { params: { path: { connection }, query } });
  const counted = (data?.data ?? []).map(({ name, records = null }) => [name, records] as const);
  recordCounts.value = new Map([...recordCounts.value, ...counted]);
}

export const familyWords: Readonly<Record<Head['family'], string>> = {
  transaction: 'Transaction',
  entity: 'Entity',
  item: 'Item',
  list: 'List',
  customRecord: 'Custom record',
  customList: 'Custom list',
  customTransaction: 'Custom transaction',
  link: 'Link',
  posting: 'Posting',
  query: 'Query',
};

export const canBeChosen = ({ syncable, syncConfigId }: Head): boolean =>
  syncable !== false && syncConfigId === null;

/** The states of a record type in words, each with how to know it. */
const states: Readonly<Record<string, readonly [word: string, is: (head: Head) => boolean]>> = {
  open: ['Not synced yet', canBeChosen],
  synced: ['Synced', ({ syncConfigId }) => syncConfigId !== null],
  unknown: ['Fields not read yet', ({ syncable }) => syncable === null],
  refused: ["Can't be synced", ({ syncable }) => syncable === false],
};
export const stateOptions = Object.entries(states).map(([state, [word]]) => [state, word] as const);

export type Filter = {
  readonly q?: string;
  readonly state?: string;
  readonly family?: string;
  readonly origin?: string;
};

/** Whether all words of `q` are in the text, in any order. */
export function createMatcher(q: string): (text: string) => boolean {
  const words = q.toLowerCase().split(/\s+/);
  return (text) => words.every((word) => text.includes(word));
}

export function filterHeads(
  heads: readonly Head[],
  { q = '', state = '', family, origin }: Filter,
): readonly Head[] {
  const isMatch = createMatcher(q);
  return heads.filter(
    (head) =>
      (states[state]?.[1](head) ?? true) &&
      (family ?? head.family) === head.family &&
      (origin === undefined || head.custom === (origin === 'custom')) &&
      isMatch(`${head.name} ${head.label}`.toLowerCase()),
  );
}
