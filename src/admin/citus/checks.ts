// The result of one check of `prepare-citus`.
import { errorMessage } from '../../core/errors.ts';

export type CheckState = 'ok' | 'changed' | 'missing';
/** `toDo`: what the operator has to do; only with `missing`. */
export type Check = {
  readonly node: string;
  readonly check: string;
  readonly state: CheckState;
  readonly toDo?: string;
};

/** The message of the error in one line. */
export const formatError = (error: unknown): string => errorMessage(error).replaceAll(/\s+/g, ' ').trim();

/** Runs `work`, which returns what it did. Never rejects: a failure is missing, with `toDo` and reason. */
export async function attempt(
  node: string,
  check: string,
  toDo: string,
  work: () => Promise<'ok' | 'changed'>,
): Promise<Check> {
  try {
    return { node, check, state: await work() };
  } catch (error) {
    return { node, check, state: 'missing', toDo: `${toDo} (${formatError(error)})` };
  }
}
