// Validates the definition while it is edited, without saving it: 1.2 s after the last change and at most
// once in 3 s, which is a third of what a person may ask for in a minute. A refusal for too many requests is
// repeated later.
import { useEffect, useRef, useState } from 'preact/hooks';
import { type Answer, type ApiError, api, toApiError } from '../../api.ts';
import type { Document } from './document.ts';
import { type Placed, placeProblems } from './problems.ts';

const quietMs = 1_200;
const minIntervalMs = 3_000;
const retryMs = 20_000;

type Result = Answer<'/api-schema/{id}/validate', 'post'>;
type Found = {
  /**
   * Of the last definition that was validated; undefined before the first answer, and while its form is
   * refused.
   */
  readonly result?: Result | undefined;
  readonly problems: Result['problems'];
  readonly placed: Placed;
  readonly of?: Document;
  readonly error?: ApiError;
};
export type Validation = Found & {
  /** Whether the answer is about the definition on screen. */
  readonly isCurrent: boolean;
};

const nothing: Found = { problems: [], placed: new Map() };

async function validate(id: string, document: Document): Promise<Found> {
  const found = (problems: Result['problems']): Found => ({
    problems,
    of: document,
    placed: placeProblems(document, problems),
  });
  try {
    const body = { endpoints: [...document] };
    const { data } = await api.POST('/api-schema/{id}/validate', { params: { path: { id } }, body });
    return { ...found(data?.problems ?? []), result: data };
  } catch (thrown) {
    const error = toApiError(thrown);
    // The form of the definition is refused, such as a name that is too long: each detail has a path like
    // those of problems.
    return error.status === 422
      ? found(error.details.map((detail) => ({ ...detail, blocks: 'save' })))
      : { ...nothing, error };
  }
}

export function useValidation(id: string, document: Document): Validation {
  const [found, setFound] = useState(nothing);
  const [attempt, setAttempt] = useState(0);
  const startedAt = useRef(0);
  useEffect(() => {
    if (found.of === document) return;
    let isWanted = true;
    const start = async (): Promise<void> => {
      startedAt.current = Date.now();
      const next = await validate(id, document);
      if (!isWanted) return;
      setFound((before) => (next.error === undefined ? next : { ...before, error: next.error }));
      if (next.error?.status === 429) setAttempt((count) => count + 1);
    };
    const waitMs =
      found.error?.status === 429
        ? retryMs
        : Math.max(quietMs, startedAt.current + minIntervalMs - Date.now());
    const timer = setTimeout(() => void start(), startedAt.current === 0 ? 0 : waitMs);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [id, document, attempt]);
  return { ...found, isCurrent: found.of === document };
}
