// Sends reads to the replicas of READ_URL. An answer of a replica counts only if it has the epoch and the
// generation that this process trusts from the primary: these name one content, so the answer is the one that
// the primary would give, and what the primary says of its freshness holds for it. Any other answer, and any
// failure, is repeated on the primary once.
import { DatabaseError } from 'pg';
import { AppError } from '../../../core/errors.ts';
import { sqlState } from '../../../db/pg-errors.ts';
import { isConnectionLost, isTooLarge, isUndefinedObject } from './failures.ts';
import { currentFreshness, type Freshness, isSameData, type Reader, stateKey } from './reader.ts';
import {
  chooseServer,
  type FallbackReason,
  type ReplicaReads,
  type ReplicaServer,
} from './replica-servers.ts';

type Trusted = { readonly recordType: string; readonly trusted: Freshness };

const lackingKey = (
  reader: Reader,
  { related = [], ...base }: Trusted & Pick<Question<unknown>, 'related'>,
): string =>
  [base, ...related]
    .map(
      ({ recordType, trusted: { epoch, generation } }) =>
        `${stateKey(reader, recordType)} ${epoch} ${generation}`,
    )
    .join(' ');

/** The trusted state that an answer has; undefined when it has another one. */
async function findTrustedState(
  reader: Reader,
  recordType: string,
  trusted: Freshness,
  state: Freshness | undefined,
) {
  if (state === undefined) return undefined;
  if (isSameData(trusted, state)) return trusted;
  if (BigInt(state.generation) < BigInt(trusted.generation)) return undefined;
  // The replica may have what was published since the primary was asked. It may also have what a lost primary
  // published.
  const key = stateKey(reader, recordType);
  if (reader.states.findAny(key) === trusted) reader.states.outdate(key);
  const current = await currentFreshness(reader, recordType);
  return isSameData(current, state) ? current : undefined;
}

const lockTimeout = '55P03';
/**
 * A cancelled statement, a deadlock with the replay, a dropped database. The time limit of the service ends
 * the whole read.
 */
const conflicts = /^(40001|40P01|57014|57P04)$/;

function classifyError(error: unknown): FallbackReason {
  const state = sqlState(error) ?? '';
  if (isUndefinedObject(error) || state === lockTimeout) return 'behind';
  return conflicts.test(state) ? 'conflict' : 'failed';
}

/** No later than with its next probe, a replica that refuses connections is asked again. */
const mustLeaveOut = (error: unknown): boolean =>
  !(error instanceof DatabaseError) || isConnectionLost(error) || sqlState(error)?.startsWith('53') === true;

type Asked<T> = {
  readonly answer: T;
  readonly state: Freshness | undefined;
  /** In the order of the other record types. */
  readonly related?: readonly (Freshness | undefined)[];
};

export type Question<T> = {
  readonly recordType: string;
  /** The state for which the statement was written, as the primary reported it. */
  readonly trusted: Freshness;
  /**
   * Other record types that the statement reads; an answer counts only if it has their trusted states as
   * well.
   */
  readonly related?: readonly Trusted[];
  ask(server: ReplicaServer): Promise<Asked<T>>;
  /** Whether an answer with the trusted state is final; by default it is. */
  readonly counts?: (answer: T, freshness: Freshness) => boolean;
  /** Called with an answer that doesn't count. */
  readonly discard?: (answer: T) => void;
  /** Whether the read has ended meanwhile: nothing is repeated then. */
  isOver(): boolean;
};

type Answered<T> = {
  readonly answer: T;
  readonly freshness: Freshness;
  readonly related: readonly Freshness[];
};

/** Rejects with the errors that the primary would report as well. */
async function askServer<T>(
  reader: Reader,
  server: ReplicaServer,
  question: Question<T>,
): Promise<Answered<T> | FallbackReason> {
  const { ask, isOver } = question;
  const position = server.replica.position();
  const lacksState = (): FallbackReason => {
    server.lacking.put(lackingKey(reader, question), position);
    return 'behind';
  };
  let asked: Awaited<ReturnType<typeof ask>>;
  try {
    asked = await ask(server);
  } catch (error) {
    if (error instanceof AppError || isTooLarge(error) || isOver()) throw error;
    if (mustLeaveOut(error)) server.replica.leaveOut(error);
    const reason = classifyError(error);
    return reason === 'behind' ? lacksState() : reason;
  }
  return acceptAnswer(reader, question, asked, lacksState);
}

/**
 * The answer if it has the trusted states, otherwise why not. Rejects with 503 when the primary must be asked
 * and is unavailable.
 */
async function acceptAnswer<T>(
  reader: Reader,
  question: Question<T>,
  { answer, state, related: states = [] }: Asked<T>,
  lacksState: () => FallbackReason,
): Promise<Answered<T> | FallbackReason> {
  const { recordType, trusted, related: named = [], counts, discard } = question;
  let isUsed = false;
  try {
    const freshness = await findTrustedState(reader, recordType, trusted, state);
    const related: Freshness[] = [];
    for (const [position, other] of named.entries()) {
      const found = await findTrustedState(reader, other.recordType, other.trusted, states[position]);
      if (found !== undefined) related.push(found);
    }
    const isComplete = freshness !== undefined && related.length === named.length;
    isUsed = isComplete && counts?.(answer, freshness) !== false;
    if (!isComplete) return lacksState();
    return isUsed ? { answer, freshness, related } : 'behind';
  } finally {
    if (!isUsed) discard?.(answer);
  }
}

/**
 * The answer of a replica with the state that the primary reports for it; undefined when the primary must be
 * asked. Rejects with 503 when too many wait for the replica or the primary is unavailable, and with the
 * errors that the primary would report as well.
 */
export async function askReplica<T>(
  reader: Reader,
  reads: ReplicaReads,
  question: Question<T>,
): Promise<Answered<T> | undefined> {
  const server = chooseServer(reads, lackingKey(reader, question));
  const found = server === undefined ? undefined : await askServer(reader, server, question);
  if (server !== undefined && found !== undefined)
    server.counts[typeof found === 'object' ? 'answered' : found] += 1;
  if (typeof found === 'object') return found;
  reads.answeredByPrimary += 1;
  return undefined;
}
