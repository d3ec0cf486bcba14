// What a request's headers ask of the answer's form: its media type, its coding, and whether the caller has it already.
import type { IncomingHttpHeaders } from 'node:http';

type Weighted = { readonly value: string; readonly weight: number };

function weighted(header: string): Weighted[] {
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
  const weightOf = (...names: string[]) =>
    names.map((name) => codings.find(({ value }) => value === name)).find((found) => found !== undefined)?.weight;
  const gzip = weightOf('gzip', 'x-gzip', '*') ?? 0;
  return gzip > 0 && gzip >= (weightOf('identity') ?? 0);
}

/**
 * The best of the media types on offer; of equally welcome ones the first. The most specific range that fits decides for each,
 * as in HTTP itself. Undefined when none is acceptable.
 */
export function chooseMediaType<T extends string>(headers: IncomingHttpHeaders, offered: readonly [T, ...T[]]): T | undefined {
  const { accept } = headers;
  if (accept === undefined || accept.trim() === '') return offered[0];
  const ranges = weighted(accept);
  const weightOf = (type: string): number => {
    const fitting = [type, `${type.split('/', 1)[0]}/*`, '*/*'].map((range) => ranges.find(({ value }) => value === range));
    return fitting.find((found) => found !== undefined)?.weight ?? 0;
  };
  const weights = offered.map(weightOf);
  const best = Math.max(...weights);
  return best > 0 ? offered[weights.indexOf(best)] : undefined;
}

/** The entity tags of If-None-Match without their weakness; `*` stands for any. */
export function knownTags(headers: IncomingHttpHeaders): readonly string[] {
  const header = headers['if-none-match'];
  if (header === undefined) return [];
  if (header.trim() === '*') return ['*'];
  return header.match(/"[\x21\x23-\x7e\x80-\xff]*"/g) ?? [];
}
