// The records of a list as a file. A failure before the first byte is a page; after it, the connection is broken off,
// so that a file that ends cleanly is complete.
import { pipeline } from 'node:stream/promises';
import { safeFileName } from '../core/text/file-name.ts';
import { downloadTypes } from '../http/route/route.ts';
import { recordsEndpoint } from '../platform/index.ts';
import { chooseLanguage } from './frame.ts';
import { fileQueryOf, readListRequest, withinShown } from './pages/list.ts';
import type { At } from './room.ts';
import { findMeaning, listShownFields } from './shown-fields.ts';
import { notFoundHere, type Visit } from './visit.ts';

/** By name of the field: the shown ones, and the currency of amounts. */
async function readHeadings({ room, req }: At, visit: Visit, recordType: string) {
  const { labelText } = await room.loadRenderer();
  const language = chooseLanguage(req, visit.portal.settings);
  const shown = listShownFields(visit, recordType).filter(({ name }) => name !== 'id');
  const currency = findMeaning(visit, recordType, 'currency');
  return {
    ...(currency !== undefined && { [currency]: labelText({ meaning: 'currency' }, language) }),
    ...Object.fromEntries(shown.map(({ name, label }) => [name, labelText(label, language)])),
  };
}

/** Throws 404 for a record type that the portal doesn't show, and rejects as lists of the public interface do. */
export async function sendListFile(at: At, visit: Visit): Promise<void> {
  const { req, res } = at;
  const { recordType, form } = req.params;
  if (typeof recordType !== 'string' || (form !== 'csv' && form !== 'xlsx')) throw notFoundHere();
  const request = readListRequest(visit, recordType, req);
  const headings = await readHeadings(at, visit, recordType);
  const left = new AbortController();
  res.once('close', () => left.abort());
  const file = await withinShown(visit, request).reader.file(
    recordsEndpoint(recordType),
    { ...fileQueryOf(visit, request), fields: Object.keys(headings).join(',') },
    headings,
    form,
    left.signal,
  );
  res.attachment(safeFileName(`${recordType}.${form}`));
  res.setHeader('Content-Type', form === 'csv' ? `${downloadTypes.csv}; charset=utf-8` : downloadTypes.xlsx);
  res.setHeader('Cache-Control', 'private, no-store');
  if (req.method === 'HEAD') {
    left.abort();
    return void res.end();
  }
  await pipeline(file.bytes, res, { signal: file.aborted }).catch((error: unknown) => {
    // The reason is already logged, or the visitor has gone.
    if (!file.aborted.aborted && !left.signal.aborted) throw error;
  });
}
