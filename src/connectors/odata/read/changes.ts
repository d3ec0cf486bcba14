// What a service reports as changed since a delta link. OData 4.01 marks deleted entities by `@removed`, OData 4.0 by a
// context of their own and their address.
import { ErpError } from '../../connector.ts';
import type { ReportedChanges } from '../../source-records.ts';
import type { OdataDefinition } from '../metadata/definition.ts';
import { erpError } from '../requests/errors.ts';
import type { JsonObject, OdataHttp } from '../requests/http.ts';
import { toId } from './keys.ts';
import { followPages } from './pages.ts';

type Key = OdataDefinition['key'];
const part =
  /^(?:([\p{L}_][\p{L}\p{N}_/]*)=)?(?:[\p{L}_][\p{L}\p{N}_.]*)?(?:'((?:[^']|'')*)'|([^',()=]+))(?:,|$)/u;

/** The id that an address such as `Orders(Id=1,Text='a')`, or a bare key, names; undefined for any other. */
function toAddressedId(key: Key, address: string): string | undefined {
  let rest = decodeURIComponent(/\(([^/]*)\)$/.exec(address)?.[1] ?? address);
  const row: Record<string, string> = {};
  for (let index = 0; rest !== ''; index += 1) {
    const [whole, name, quoted, plain] = part.exec(rest) ?? [];
    const path = name ?? key[index]?.path;
    if (whole === undefined || path === undefined || path.includes('/')) return undefined;
    row[path] = quoted?.replaceAll("''", "'") ?? plain ?? '';
    rest = rest.slice(whole.length);
  }
  return toId(key, row);
}

const contextOf = (row: JsonObject): string => String(row['@odata.context'] ?? row['@context'] ?? '');
const expired = (message: string, cause?: unknown) => erpError('query', 'CHANGES_EXPIRED', message, cause);

/**
 * The changes behind a delta link, or behind the link to their next page. Rejects as `followPages`, and with
 * CHANGES_EXPIRED where the service no longer knows the link, or reports changes that belong to no record.
 */
export async function listChanges(
  http: OdataHttp,
  { key, set }: OdataDefinition,
  token: string,
  signal: AbortSignal,
): Promise<ReportedChanges> {
  const [changed, removed]: [string[], string[]] = [[], []];
  const read = async () => {
    for await (const page of followPages(http, http.follow(token, token), signal)) {
      if (page.rows.length === 0 && page.nextLink !== null) continue;
      const next = page.nextLink ?? page.deltaLink;
      return { rows: page.rows, next, hasMore: page.nextLink !== null };
    }
    return { rows: [], next: null, hasMore: false };
  };
  const { rows, next, hasMore } = await read().catch((error: unknown) => {
    const isGone = error instanceof ErpError && ['query', 'forbidden'].includes(error.kind);
    throw isGone ? expired(`The ERP no longer lists changes of ${set}: ${error.message}`, error) : error;
  });
  if (next === null || (hasMore && next === token))
    throw expired(`The changes of ${set} have no link to later ones`);
  for (const row of rows) {
    const context = contextOf(row);
    const isRemoved = '@removed' in row || '@odata.removed' in row || context.endsWith('/$deletedEntity');
    const id =
      toId(key, row) ?? toAddressedId(key, String(row['id'] ?? row['@id'] ?? row['@odata.id'] ?? ''));
    const isOther = context !== '' && !isRemoved && !context.endsWith('/$entity');
    // Of a deletion that names no record, the counts of records give the proof.
    if (isOther || (id === undefined && !isRemoved)) throw expired(`A change of ${set} belongs to no record`);
    if (id !== undefined) (isRemoved ? removed : changed).push(id);
  }
  return { changed, removed, token: next, hasMore };
}
