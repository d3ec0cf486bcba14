// Finds out by real requests what a service supports of the queries for an entity set: filter and order by its
// key, its lines within records, and the filter by modification time, or without one the tracking of changes.
import { type Connector, ErpError } from '../../connector.ts';
import { linesField } from './definition.ts';
import type { Described } from './describe.ts';

type Variant = {
  readonly paging: 'key' | 'nextLink';
  readonly countsLines: boolean;
  readonly refusedLines: string | null;
};
type Reads = Pick<Connector, 'readPage'>;

/** Behind every modification: the filter is checked, and no record read. */
const farFuture = new Date('2200-01-01T00:00:00Z');

function toVariant(described: Described, { paging, countsLines, refusedLines }: Variant): Described {
  const { lines: of } = described.definition;
  const lines = refusedLines === null && of !== null ? { ...of, isCounted: countsLines } : null;
  const reason = `The ERP refuses to read lines with records: ${refusedLines}`;
  return {
    ...described,
    ...(paging === 'nextLink' && { keyOrder: 'server' as const }),
    fields: described.fields.map((field) =>
      field.name === linesField && refusedLines !== null ? { ...field, syncable: false, reason } : field,
    ),
    definition: { ...described.definition, paging, lines },
  };
}

/** The message of the service's refusal; null where it supports the queries. Rejects as `readPage`. */
async function findRefusal(reads: Reads, recordType: Described, since: Date | null, signal: AbortSignal) {
  const fields = recordType.fields.filter(({ syncable }) => syncable).map(({ name }) => name);
  const { paging, tracksChanges } = recordType.definition;
  const request = { recordType, fields, limit: 1, changedSince: since, signal };
  try {
    const first = await reads.readPage({ ...request, afterId: null, tracksChanges });
    if (first.lastId !== null && paging === 'key' && !tracksChanges)
      await reads.readPage({ ...request, afterId: first.lastId });
    return null;
  } catch (error) {
    const isRefusal = error instanceof ErpError && (error.kind === 'query' || error.code === 'PAGE_REPEATS');
    if (!isRefusal) throw error;
    return error.message;
  }
}

const exclude = (described: Described, reason: string): Described => ({
  ...described,
  reason,
  fields: described.fields.map((field) => ({ ...field, syncable: false, reason })),
});

async function findVariant(reads: Reads, described: Described, signal: AbortSignal): Promise<Described> {
  let refusal = '';
  for (const paging of ['key', 'nextLink'] as const) {
    for (const countsLines of described.definition.lines === null ? [false] : [true, false]) {
      const whole = toVariant(described, { paging, countsLines, refusedLines: null });
      const refused = await findRefusal(reads, whole, null, signal);
      if (refused === null) return whole;
      refusal = refused;
    }
    if (described.definition.lines === null) continue;
    const bare = toVariant(described, { paging, countsLines: false, refusedLines: refusal });
    if ((await findRefusal(reads, bare, null, signal)) === null) return bare;
  }
  return exclude(described, `The ERP refuses to read these records: ${refusal}`);
}

const withChanges = (described: Described, changes: 'tracked' | 'full'): Described => ({
  ...described,
  ...(described.reading && { reading: { ...described.reading, changes } }),
  ...(changes === 'tracked' && { keyOrder: 'server' as const }),
  modifiedField: null,
  definition: { ...described.definition, modified: null, tracksChanges: changes === 'tracked' },
});

/**
 * The record type as the service supports it, with the reason where its records can't be read. Rejects as
 * `readPage`, but not for a refusal.
 */
export async function probeRecordType(
  reads: Reads,
  described: Described,
  signal: AbortSignal,
): Promise<Described> {
  try {
    const found = described.reason === null ? await findVariant(reads, described, signal) : described;
    if (found.reason !== null) return found;
    if (found.modifiedField !== null && (await findRefusal(reads, found, farFuture, signal)) === null)
      return found;
    const tracked = withChanges(found, 'tracked');
    const refused = await findRefusal(reads, tracked, null, signal);
    return refused === null ? tracked : withChanges(found, 'full');
  } catch (error) {
    if (!(error instanceof ErpError) || error.kind !== 'forbidden') throw error;
    return exclude(described, error.message);
  }
}
