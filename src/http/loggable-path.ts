// What of a request's path is logged. A path may hold a secret token wherever a caller puts one: in a link
// that was changed, or in place of an id. So the log keeps only segments too short or plain to be one.

const uuid = '[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}';
/** Shorter than any token or key, or words, or a UUID. */
const harmlessSegment = new RegExp(`^(?:[A-Za-z0-9._~-]{0,24}|[a-z]+(?:[-._][a-z]+)*|${uuid})$`);
/**
 * Short segments only. A pattern with several ways to match one segment would try every combination of them:
 * callers choose the path.
 */
const shortSegments = /^(?:\/[A-Za-z0-9._~-]{0,24})*$/;

const maxLength = 512;

/** The path of a request, without its query, with `…` for each segment that may be a secret. */
export function loggablePath(url: string): string {
  const queryAt = url.search(/[?#]/);
  const path = queryAt === -1 ? url : url.slice(0, queryAt);
  if (path.length <= maxLength && shortSegments.test(path)) return path;
  return path
    .split('/')
    .map((segment) => (segment.length <= 64 && harmlessSegment.test(segment) ? segment : '…'))
    .join('/')
    .slice(0, maxLength);
}
