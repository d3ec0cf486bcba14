// Pages of a list that the ERP's own counts of the same ids confirm. Creations and deletions during a long
// list make its length differ from any count of the whole; during one page, they hardly ever do.
import type { Connector, IdRange, RecordTypeMetadata } from '../../connectors/connector.ts';
import { isValidId } from '../../warehouse/validate-values.ts';
import { isIdBefore } from '../account/read-by-ids.ts';
import { ProofFailed } from '../queue/retry.ts';

export const countMismatch = (message: string): ProofFailed =>
  new ProofFailed(
    'COUNT_MISMATCH',
    message,
    'Check whether the integration role may view these records, then run the sync again.',
  );

/** Whether a number of rows lies between what the ERP counted before and after them. */
export const isBetween = (rows: number, before: number, after: number): boolean =>
  rows >= Math.min(before, after) && rows <= Math.max(before, after);

/** `rows`: as many as the ERP returned; an id that it lists twice counts twice. */
type Page = { readonly rows: number; readonly lastId: string | null; readonly hasMore: boolean };
type PageSource<P extends Page> = {
  readonly afterId: string | null;
  readonly list: () => Promise<P>;
  readonly count: (range: IdRange) => Promise<number>;
};

const maxListings = 10;

/**
 * Lists a page until its number of rows is the ERP's own count of its ids. Behind the last page records are
 * created all the time: its rows may be any number between the counts before and after. Throws `ProofFailed`
 * `COUNT_MISMATCH` after ten listings, and what `list` and `count` throw.
 */
export async function listCounted<P extends Page>({ afterId, list, count }: PageSource<P>): Promise<P> {
  let before: number | null = null;
  for (let listing = 1; ; listing += 1) {
    const page = await list();
    const upTo = page.hasMore ? page.lastId : null;
    const after = await count({ afterId, upTo });
    const other = upTo === null && before !== null ? before : after;
    if (isBetween(page.rows, other, after)) return page;
    if (listing === maxListings) {
      const range = `${afterId === null ? '' : ` after ${afterId}`}${upTo === null ? '' : ` up to ${upTo}`}`;
      throw countMismatch(
        `The ERP counts ${after} records${range && ` with ids${range}`} but lists ${page.rows}`,
      );
    }
    before = upTo === null ? after : null;
  }
}

type ErpSide = {
  readonly connector: Connector;
  readonly recordType: RecordTypeMetadata;
  readonly signal: AbortSignal;
};

const idsPerPage = 1_000;

/**
 * For records that were listed and can't be read: they may have been deleted in between, but those that the
 * ERP still lists are hidden from the role. Throws `ProofFailed` `COUNT_MISMATCH` for these, and the
 * connector's errors.
 */
export async function assertNoLongerListed(
  { connector, recordType, signal }: ErpSide,
  ids: Iterable<string>,
): Promise<void> {
  const { idType, keyOrder } = recordType;
  let rest = [...ids]
    .filter((id) => isValidId(id, idType))
    .sort((a, b) => (isIdBefore(a, b, idType) ? -1 : 1));
  const still: string[] = [];
  let lastId: string | null = null;
  for (let [next] = rest; next !== undefined; [next] = rest) {
    const canSkip = idType === 'integer' && keyOrder !== 'server';
    const afterId: string | null = canSkip ? String(BigInt(next) - 1n) : lastId;
    const page: Awaited<ReturnType<Connector['listIds']>> = await connector.listIds({
      recordType,
      afterId,
      limit: idsPerPage,
      signal,
    });
    signal.throwIfAborted();
    const listed = new Set(page.listed.map(({ id }) => id));
    still.push(...rest.filter((id) => listed.has(id)));
    lastId = page.hasMore ? (page.listed.at(-1)?.id ?? null) : null;
    const end: string | null = lastId;
    const isBehind = (id: string): boolean =>
      end !== null && (keyOrder === 'server' ? !listed.has(id) : isIdBefore(end, id, idType));
    rest = rest.filter(isBehind);
  }
  if (still.length === 0) return;
  throw countMismatch(
    `The ERP lists ${still.length} records that can't be read, such as ${still.slice(0, 5).join(', ')}`,
  );
}
