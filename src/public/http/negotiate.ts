// Content negotiation: media type, content coding, and whether the client already has the representation.
import type { IncomingHttpHeaders } from 'node:http';

export const workbookType = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';

function weighted(header: string): { readonly value: string; readonly weight: number }[] {
  return header.split(',').flatMap((part) => {
    const [value = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    if (value === '') return [];
    const quality = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? '1';
    const weight = Number(quality);
    return [{ value, weight: Number.isFinite(weight) ? weight : 0 }];
  });
}

export function acceptsGzip(headers: IncomingHttpHeaders): boolean {
  const header = headers['accept-encoding'];
  if (typeof header !== 'string') return false;
  const codings = weighted(header);
  const findWeight = (...names: string[]) =>
    names.map((name) => codings.find(({ value }) => value === name)).find((found) => found !== undefined)
      ?.weight;
  const gzip = findWeight('gzip', 'x-gzip', '*') ?? 0;
  return gzip > 0 && gzip >= (findWeight('identity') ?? 0);
}

/**
 * The most acceptable of the offered media types; among equals the first. For each type the most specific
 * matching range of `Accept` decides (RFC 9110). Undefined when none is acceptable.
 */
export function chooseMediaType<T extends string>(
  headers: IncomingHttpHeaders,
  offered: readonly [T, ...T[]],
): T | undefined {
  const { accept } = headers;
  if (accept === undefined || accept.trim() === '') return offered[0];
  const ranges = weighted(accept);
  const findWeight = (type: string): number => {
    const matching = [type, `${type.split('/', 1)[0]}/*`, '*/*'].map((range) =>
      ranges.find(({ value }) => value === range),
    );
    return matching.find((found) => found !== undefined)?.weight ?? 0;
  };
  const weights = offered.map(findWeight);
  const best = Math.max(...weights);
  return best > 0 ? offered[weights.indexOf(best)] : undefined;
}

/** Whether `Accept` asks for CSV with a byte order mark: `text/csv; bom=present`. */
export const acceptsMark = ({ accept = '' }: IncomingHttpHeaders): boolean =>
  /(?:^|,)\s*text\/csv\s*;[^,]*\bbom=present\b/i.test(accept);

/** The entity tags of If-None-Match without the weakness prefix; `*` matches any. */
export const knownTags = (headers: IncomingHttpHeaders): readonly string[] =>
  tagsIn(headers['if-none-match'], /"[\x21\x23-\x7e\x80-\xff]*"/g);

/** The strong entity tags of If-Match, which alone match; `*` matches any. Undefined without the header. */
export const requiredTags = ({ 'if-match': header }: IncomingHttpHeaders): readonly string[] | undefined =>
  header === undefined ? undefined : tagsIn(header, /(?<!W\/)"[\x21\x23-\x7e\x80-\xff]*"/g);

function tagsIn(header: string | undefined, form: RegExp): readonly string[] {
  if (header === undefined) return [];
  return header.trim() === '*' ? ['*'] : (header.match(form) ?? []);
}
