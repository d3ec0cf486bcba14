// Finds out by real requests what a service supports of the queries for an entity set: filter and order by its
// key, its lines within records, and the filter by modification time, or without one the tracking of changes.
import { type Connector, ErpError, type PageRequest } from '../../connector.ts';
import type { Reading } from '../../discovery.ts';
import { linesField } from './definition.ts';
import { type Described, exclude, findModified } from './describe.ts';

type Variant = Pick<Described['definition'], 'paging'> & { readonly lines: 'counted' | 'uncounted' | 'none' };
type Reads = Pick<Connector, 'readPage'>;

const variants: readonly Variant[] = (['key', 'nextLink'] as const).flatMap((paging) =>
  (['counted', 'uncounted', 'none'] as const).map((lines) => ({ paging, lines })),
);
/** Behind every modification: the filter is checked, and no record read. */
const farFuture = new Date('2200-01-01T00:00:00Z');

/** `refusal`: why there are no lines. */
function toVariant(described: Described, { paging, lines }: Variant, refusal: string): Described {
  const reason = `The ERP refuses to read lines with records: ${refusal}`;
  const { lines: all, ...definition } = described.definition;
  const left = lines === 'none' || all === null ? null : { ...all, isCounted: lines === 'counted' };
  return {
    ...described,
    ...(paging === 'nextLink' && { keyOrder: 'server' as const }),
    fields: described.fields.map((field) =>
      field.name === linesField && left === null ? { ...field, syncable: false, reason } : field,
    ),
    definition: { ...definition, paging, lines: left },
  };
}

/** Business Central refuses some entities with status 500. */
const refusals: readonly string[] = ['SERVER_ERROR', 'PAGE_REPEATS', 'ANSWER_TOO_LARGE'];
const isRefusal = ({ kind, code, retryAfterMs }: ErpError): boolean =>
  kind === 'query' || (refusals.includes(code) && retryAfterMs === null);

/** Requests a page, by default of one record with all fields. Resolves to the message of the service's refusal. */
const createAttempt =
  (reads: Reads, signal: AbortSignal) => async (recordType: Described, more: Partial<PageRequest>) => {
    const fields = recordType.fields.filter(({ syncable }) => syncable).map(({ name }) => name);
    const request = { recordType, fields, limit: 1, changedSince: null, afterId: null, signal, ...more };
    return reads.readPage(request).catch((error: unknown) => {
      if (error instanceof ErpError && isRefusal(error)) return error.message;
      throw error;
    });
  };
type Attempt = ReturnType<typeof createAttempt>;

async function findVariant(attempt: Attempt, described: Described): Promise<Described> {
  let refusal = '';
  for (const variant of variants) {
    if (described.definition.lines === null && variant.lines !== 'none') continue;
    const tried = toVariant(described, variant, refusal);
    let page = await attempt(tried, {});
    if (typeof page !== 'string' && page.lastId !== null && variant.paging === 'key')
      page = await attempt(tried, { afterId: page.lastId });
    if (typeof page !== 'string') return tried;
    refusal = page;
  }
  return exclude(described, `The ERP refuses to read these records: ${refusal}`);
}

/** Whether a line changed later than its record, by its own time. */
async function hasLaterLines(attempt: Attempt, described: Described): Promise<boolean> {
  const lines = described.fields.find(({ name, syncable }) => name === linesField && syncable);
  const { name = '' } = findModified(lines?.fields ?? []) ?? {};
  const page = name === '' ? '' : await attempt(described, { fields: [linesField], limit: 100 });
  if (typeof page === 'string') return false;
  return page.records.some(({ modifiedAt, lines: all }) =>
    all?.some((line) => Date.parse(line[name] ?? '') - Date.parse(modifiedAt ?? '') > 1_000),
  );
}

const lineNotes: Readonly<Partial<Record<Reading['changes'], string>>> = {
  modified: 'A change of a line that does not move the time of its record is found by the next full read.',
  tracked: 'A change of a line that the ERP does not report for its record is found by the next full read.',
};
const uncounted =
  'That a response lacks no line of a record is not proved: the service is not asked for their number.';
const unmoved = 'The time of a record does not move when one of its lines changes, so it is not used.';

function withChanges(described: Described, changes: Reading['changes'], note: string[] = []): Described {
  const { lines } = described.definition;
  const tracksChanges = changes === 'tracked';
  const ofLines = lines === null ? [] : [lineNotes[changes] ?? [], lines.isCounted ? [] : uncounted];
  return {
    ...described,
    ...(tracksChanges && { keyOrder: 'server' as const }),
    ...(changes !== 'modified' && { modifiedField: null }),
    reading: { ...described.reading, changes, notes: [...ofLines.flat(), ...note] },
    definition: { ...described.definition, tracksChanges },
  };
}

/**
 * The record type as the service supports it, with the reason where its records can't be read. Rejects as
 * `readPage`, but not for a refusal.
 */
export async function probeRecordType(reads: Reads, described: Described, signal: AbortSignal) {
  try {
    const attempt = createAttempt(reads, signal);
    const found = described.reason === null ? await findVariant(attempt, described) : described;
    if (found.reason !== null) return found;
    // Refused without a request where there is no time of modification.
    const isFiltered = typeof (await attempt(found, { changedSince: farFuture })) !== 'string';
    const note = isFiltered && (await hasLaterLines(attempt, found)) ? [unmoved] : [];
    if (isFiltered && note.length === 0) return withChanges(found, 'modified');
    const tracked = withChanges(found, 'tracked', note);
    const isTracked = typeof (await attempt(tracked, { tracksChanges: true })) !== 'string';
    return isTracked ? tracked : withChanges(found, 'full', note);
  } catch (error) {
    if (!(error instanceof ErpError) || error.kind !== 'forbidden') throw error;
    return exclude(described, error.message);
  }
}
