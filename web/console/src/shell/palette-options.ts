// What the command palette finds: screens, the objects of the organization, and sections of the documentation.
import { api } from '../api.ts';
import type { IconName } from '../parts/icon.tsx';
import { useRead } from '../query.ts';
import { base } from '../router.ts';
import { areas } from '../screens.ts';
import { may, organizationId } from '../session.ts';

/** `detail` says more, such as the email address of a member. */
export type Option = Readonly<Record<'kind' | 'name' | 'detail' | 'to', string>> & {
  readonly icon: IconName;
};

type Query = { readonly pageSize: number; readonly q?: string };
type Page<T> = { readonly data: readonly T[]; readonly pagination: { readonly totalPages: number } };
type Found = { readonly options: readonly Option[]; readonly isWhole: boolean };

/** A list of objects, for people with the permission. */
function list<T>(
  permission: string,
  readPage: (query: Query) => Promise<{ data?: Page<T> }>,
  toOption: (one: T) => Option,
): (query: Query) => Promise<Found> {
  return async (query) => {
    const { data } = may(permission) ? await readPage(query) : {};
    return {
      options: (data?.data ?? []).map(toOption),
      isWhole: (data?.pagination.totalPages ?? 1) <= 1,
    };
  };
}

const lists = [
  list(
    'sync:read',
    (query) => api.GET('/sync-configs', { params: { query } }),
    ({ id, name, recordType }) => ({
      kind: 'Sync',
      icon: 'syncs',
      name,
      detail: recordType,
      to: `${base}/syncs/${id}`,
    }),
  ),
  list(
    'api-schema:read',
    (query) => api.GET('/api-schema', { params: { query } }),
    ({ id, version, status, name }) => ({
      kind: 'API version',
      icon: 'versions',
      name: [version, name].filter(Boolean).join(' · ') || 'Draft',
      detail: status.toLowerCase(),
      to: `${base}/schemas/${id}`,
    }),
  ),
  list(
    'api-key:read',
    (query) => api.GET('/api-keys', { params: { query } }),
    ({ id, name, status }) => ({
      kind: 'API key',
      icon: 'keys',
      name,
      detail: status.toLowerCase(),
      to: `${base}/keys/${id}`,
    }),
  ),
  list(
    'member:read',
    (query) => api.GET('/organizations/{id}/members', { params: { path: { id: organizationId() }, query } }),
    ({ user: { name, email } }) => ({
      kind: 'Member',
      icon: 'people',
      name,
      detail: email,
      to: `${base}/people?q=${encodeURIComponent(email)}`,
    }),
  ),
];

const readLists = (from: typeof lists, query: Query): Promise<Found[]> =>
  Promise.all(from.map((read) => read(query)));

async function readDocs(words: string): Promise<readonly Option[]> {
  const response = await fetch(`/docs/search.json?q=${encodeURIComponent(words)}`);
  const { data } = (await response.json()) as { data: { page: string; title: string; address: string }[] };
  return data.map(({ page, title, address }) => ({
    kind: 'Documentation',
    icon: 'docs',
    name: title,
    detail: page === title ? '' : page,
    to: address,
  }));
}

const listScreens = (): Option[] =>
  areas.flatMap(({ title, links }) =>
    links
      .filter(([, , , ...permissions]) => may(...permissions))
      .map(([to, name, icon]) => ({
        kind: 'Screen',
        icon,
        name,
        detail: title,
        to: base + to.replace(/^\/$/, ''),
      })),
  );

const maxShown = { objects: 12, docs: 6 };
const minSearchedLength = 2;
const maxAgeMs = 60_000;

/**
 * The options that have all words of the text, those first whose name begins with it; without text, the
 * screens. The service is asked for the `settled` text.
 */
export function useOptions(text: string, settled: string): readonly Option[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const isSearched = settled.trim().length >= minSearchedLength;
  // Lists of at most a page are read once: each key pressed would be a request of the 60 that a person has.
  const whole = useRead('palette', () => readLists(lists, { pageSize: 100 }), { maxAgeMs }).data;
  const long = lists.filter((_, index) => whole?.[index]?.isWhole === false);
  const found = useRead(
    isSearched && long.length > 0 ? `palette ${settled}` : null,
    () => readLists(long, { pageSize: 10, q: settled.trim() }),
    { maxAgeMs },
  ).data;
  const docs =
    useRead(isSearched ? `docs ${settled}` : null, () => readDocs(settled), { maxAgeMs }).data ?? [];
  const screens = listScreens();
  if (words.length === 0) return screens;
  const known = new Map(
    [...screens, ...[...(whole ?? []), ...(found ?? [])].flatMap(({ options }) => options)].map((option) => [
      option.to,
      option,
    ]),
  );
  const rank = ({ name }: Option): number => (name.toLowerCase().startsWith(words[0] ?? '') ? 0 : 1);
  const fitting = [...known.values()].filter(({ kind, name, detail }) => {
    const all = `${kind} ${name} ${detail}`.toLowerCase();
    return words.every((word) => all.includes(word));
  });
  return [
    ...fitting.sort((a, b) => rank(a) - rank(b)).slice(0, maxShown.objects),
    ...docs.slice(0, maxShown.docs),
  ];
}
