// What was saved by someone else while it is being edited here.
import { useState } from 'preact/hooks';
import { toApiError } from '../api.ts';

type NewerRevisionProps = {
  /** What was saved by someone else; undefined: nothing. */
  newer: number | undefined;
  /** What the changes here belong to. */
  mine: number;
  discard: () => void;
  replace: () => void;
};

/** Another person saved what is edited here: one of the two revisions is kept. */
export function NewerRevision({ newer, mine, discard, replace }: NewerRevisionProps) {
  if (newer === undefined) return null;
  return (
    <div class="note warn stack" role="alert">
      <p>
        Revision {newer} was saved by another person or in another window. Your changes of revision {mine} are
        still here.
      </p>
      <p class="row">
        <button type="button" onClick={discard}>
          Show revision {newer} and discard my changes
        </button>
        <button type="button" class="danger" onClick={replace}>
          Replace revision {newer} by mine
        </button>
      </p>
    </div>
  );
}

type Saved<T> = { readonly value: T; readonly revision: number };
export type Revised<T> = Saved<T> & {
  /** Undefined unless it is newer than the changes here. */
  readonly newer: number | undefined;
  /** Whether it was saved since the last change. */
  readonly isSaved: boolean;
  readonly isChanged: boolean;
  change(value: T): void;
  discard(): void;
  /**
   * Sends it, by default of the revision that was edited, and shows what was saved. Resolves as well where someone
   * else saved it meanwhile: `newer` then says so. Rejects with the ApiError of `send` otherwise.
   */
  save(send: (value: T, revision: number) => Promise<unknown>, revision?: number): Promise<void>;
};

/**
 * Edits a value that the service keeps in revisions. Without changes it is what was read last. `readAgain`
 * resolves once `read` is new.
 */
export function useRevised<T>(read: Saved<T>, readAgain: () => Promise<void>): Revised<T> {
  const [edited, setEdited] = useState<Saved<T>>();
  const [status, setStatus] = useState({ isSaving: false, isSaved: false });
  const shown = edited ?? read;
  return {
    ...shown,
    newer:
      !status.isSaving && edited !== undefined && read.revision > edited.revision ? read.revision : undefined,
    isSaved: status.isSaved,
    isChanged: edited !== undefined,
    change(value) {
      setStatus({ isSaving: false, isSaved: false });
      setEdited({ value, revision: shown.revision });
    },
    discard: () => setEdited(undefined),
    async save(send, revision = shown.revision) {
      setStatus({ isSaving: true, isSaved: false });
      try {
        await send(shown.value, revision);
        await readAgain();
        setEdited(undefined);
        setStatus({ isSaving: false, isSaved: true });
      } catch (thrown) {
        const error = toApiError(thrown);
        const isStale = error.details.some(({ code }) => code === 'stale_revision');
        if (isStale) {
          setEdited({ value: shown.value, revision });
          await readAgain();
        }
        setStatus({ isSaving: false, isSaved: false });
        if (!isStale) throw error;
      }
    },
  };
}
