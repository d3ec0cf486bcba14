// Finds sections of the documentation by words, also misspelt ones and beginnings. Decisions, which are for
// developers of the service, come last.
import MiniSearch from 'minisearch';
import type { Docs } from './read-docs.ts';

/** `text` is HTML without elements. */
export type Found = {
  readonly address: string;
  readonly page: string;
  readonly title: string;
  readonly text: string;
};

const maxFound = 20;

/** A search that returns the best sections first, at most 20. */
export async function createDocsSearch({ pages }: Docs): Promise<(words: string) => readonly Found[]> {
  const sections = [...pages].flatMap(([page, { title, sections }]) =>
    sections.map((section) => ({
      address: section.anchor === '' ? page : `${page}#${section.anchor}`,
      page: title,
      title: section.title,
      text: section.html
        .replace(/^<h\d.*?<\/h\d>/s, '')
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
        .trim(),
    })),
  );
  const index = new MiniSearch<Found>({ fields: ['title', 'page', 'text'], idField: 'address' });
  await index.addAllAsync(sections);
  const byAddress = new Map(sections.map((section) => [section.address, section]));
  return (words) =>
    index
      .search(words, {
        combineWith: 'AND',
        prefix: true,
        fuzzy: 0.2,
        boost: { title: 4, page: 2 },
        boostDocument: (id) => (String(id).startsWith('decisions') ? 0.2 : 1),
      })
      .slice(0, maxFound)
      .flatMap(({ id }) => byAddress.get(id) ?? []);
}
