// Which route served a request, for the log and the metrics. The texts never come from a caller, so that the
// number of distinct values is bounded by the code.

export type ServedRoute = {
  /** The path template, with its parameters in braces. */
  readonly route: string;
  /** Groups routes of similar duration. */
  readonly kind: RouteKind;
};

export type RouteKind =
  | 'list'
  | 'record'
  | 'changes'
  | 'export'
  | 'summary'
  | 'description'
  | 'discovery'
  | 'public'
  | 'platform'
  | 'stream'
  | 'mcp'
  | 'page'
  | 'other';

/** Replaces what was recorded for the request before. */
export type RecordServedRoute = (served: ServedRoute) => void;
