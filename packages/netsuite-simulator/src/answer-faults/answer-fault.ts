// A fault that the control interface puts: which answers it meets, and what it does to them.

export const FAULT_KINDS = ['rows', 'count', 'metadata', 'token', 'record'] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];
/** `other`: serverTime, governanceLimits, OPTIONS and unknown paths. */
export type AnswerKind = FaultKind | 'other';

export const FAULT_STATUSES = [429, 401, 403, 500, 503] as const;
type Scalar = string | number | boolean | null;
export type ColumnValues = Readonly<Record<string, Scalar>>;
/**
 * A column in some of its table's rows: those with all these values, or those whose internal id is a multiple
 * of `every`.
 */
export type SomeRowsOfColumn = { column: string; where?: ColumnValues; every?: number };

/** Exactly one of the effects is set. */
export type AnswerFault = {
  on: { table?: string; kind?: FaultKind };
  /** How many answers it meets; without it, all. */
  times?: number;
  status?: (typeof FAULT_STATUSES)[number];
  html?: true;
  cut?: number;
  repeatPage?: true;
  stalePage?: true;
  countOffset?: number;
  hasMore?: false;
  dropRows?: { where?: ColumnValues; every?: number };
  nullColumn?: string | SomeRowsOfColumn;
  duplicateRow?: true;
  delayMs?: number;
};

export const EFFECTS = [
  'status',
  'html',
  'cut',
  'repeatPage',
  'stalePage',
  'countOffset',
  'hasMore',
  'dropRows',
  'nullColumn',
  'duplicateRow',
  'delayMs',
] as const satisfies readonly (keyof AnswerFault)[];
export type Effect = (typeof EFFECTS)[number];

export const findEffect = (fault: AnswerFault): Effect | undefined =>
  EFFECTS.find((effect) => fault[effect] !== undefined);

/** The kinds that an effect can meet; effects that aren't listed meet every kind. */
const KINDS_OF_EFFECT: Partial<Record<Effect, readonly FaultKind[]>> = {
  repeatPage: ['rows', 'record'],
  stalePage: ['rows', 'count', 'record'],
  countOffset: ['count', 'rows', 'record'],
  hasMore: ['rows', 'record'],
  dropRows: ['rows', 'count', 'record'],
  nullColumn: ['rows', 'record'],
  duplicateRow: ['rows', 'record'],
};
/** The kinds that an effect meets when `on.kind` is absent, if they are fewer. */
const DEFAULT_KINDS: Partial<Record<Effect, readonly FaultKind[]>> = {
  stalePage: ['rows', 'record'],
  countOffset: ['count'],
  dropRows: ['rows'],
};

/**
 * The kinds that a fault can meet; undefined: all. Conditions can only be met by queries, and every Nth row
 * is one of a list.
 */
export function possibleKinds(fault: AnswerFault): readonly FaultKind[] | undefined {
  if (fault.dropRows?.where) return ['rows', 'count'];
  if (fault.dropRows) return ['rows', 'record'];
  if (typeof fault.nullColumn === 'object') return ['rows'];
  const effect = findEffect(fault);
  return effect && KINDS_OF_EFFECT[effect];
}

/** What one request asks for. */
export type AnswerSubject = { kind: AnswerKind; table: string | undefined };

export function isMetBy(fault: AnswerFault, { kind, table }: AnswerSubject): boolean {
  const { on } = fault;
  if (on.table !== undefined && on.table !== table) return false;
  if (on.kind !== undefined) return on.kind === kind;
  const effect = findEffect(fault);
  const kinds = (effect && DEFAULT_KINDS[effect]) ?? possibleKinds(fault);
  return kinds === undefined || kinds.some((possible) => possible === kind);
}
