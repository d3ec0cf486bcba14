// The definition that a person edits: what is saved, what was changed since, and what another person saved in
// the meantime. Changes are kept in this browser until they are saved or discarded, so that nothing is lost
// by a reload or by leaving the screen.
import { useRef, useState } from 'preact/hooks';
import { type Answer, type ApiError, api, toApiError } from '../../api.ts';
import { keep, readKept } from '../../kept.ts';
import { invalidate } from '../../query.ts';
import type { Document } from './document.ts';

export type Version = Answer<'/api-schema/{id}'>;
/** `text`: the text of the JSON view, while the tables didn't replace it. */
type Content = {
  readonly name: string;
  readonly notes: string;
  readonly endpoints: Document;
  readonly text?: string | undefined;
};
type Kept = Content & { readonly revision: number };
type Status = { readonly saving: boolean; readonly error?: ApiError };

const toContent = ({ name, notes, endpoints }: Version): Content => ({ name, notes, endpoints });
const toKey = (id: string): string => `schema-draft:${id}`;
const readChanges = (id: string): Kept | undefined => readKept<Kept>(toKey(id), 'localStorage');

/** Whether changes of the draft wait in this browser to be saved. */
export const hasChanges = (id: string): boolean => readChanges(id) !== undefined;

/** Forgets what was changed in a draft that is gone. */
export const forgetChanges = (id: string): void => keep(toKey(id), undefined, 'localStorage');

export type Draft = Status & {
  readonly content: Content;
  readonly isChanged: boolean;
  /** The revision that the changes are based on. */
  readonly revision: number;
  /** The revision that another person saved after that. */
  readonly newerRevision: number | undefined;
  change(content: Partial<Content>): void;
  /** Resolves to whether it was saved. `over`: also over what another person saved. */
  save(options?: { over?: boolean }): Promise<boolean>;
  discard(): void;
};

const toJson = ({ name, notes, endpoints }: Content): string => JSON.stringify([name, notes, endpoints]);
const isStale = (error: ApiError): boolean => error.details.some(({ code }) => code === 'stale_revision');

/** Saves the changes in `kept`, and resolves to the new revision. */
async function send(id: string, { name, notes, endpoints }: Kept, revision: number): Promise<number> {
  const body = { name, notes, endpoints: [...endpoints], revision };
  const { data } = await api.PATCH('/api-schema/{id}', { params: { path: { id } }, body });
  await invalidate('/api-schema/{id} ', '/api-schema ', '/overview');
  return data?.revision ?? revision + 1;
}

/** The changes in this browser; `latest` has them also between two renderings. */
function useKept(id: string) {
  const [edited, setEdited] = useState(() => readChanges(id));
  const latest = useRef(edited);
  const set = (next: Kept | undefined): void => {
    latest.current = next;
    keep(toKey(id), next, 'localStorage');
    setEdited(next);
  };
  return { edited, latest, set };
}

/** `version`: as it was read last. */
export function useDraft(version: Version): Draft {
  const { edited, latest, set } = useKept(version.id);
  const [status, setStatus] = useState<Status>({ saving: false });
  const revision = edited?.revision ?? version.revision;

  async function save({ over = false } = {}): Promise<boolean> {
    const sent = latest.current;
    if (status.saving) return false;
    if (sent === undefined) return true;
    setStatus({ saving: true });
    try {
      const saved = await send(version.id, sent, over ? version.revision : sent.revision);
      // What was edited meanwhile stays changed.
      const now = latest.current;
      set(now === sent || now === undefined ? undefined : { ...now, revision: saved });
      setStatus({ saving: false });
      return true;
    } catch (thrown) {
      const error = toApiError(thrown);
      if (isStale(error)) await invalidate('/api-schema/{id} ');
      setStatus({ saving: false, ...(!isStale(error) && { error }) });
      return false;
    }
  }

  return {
    content: edited ?? toContent(version),
    isChanged: edited !== undefined,
    revision,
    // While it is being saved, the version is newer than the changes for a moment.
    newerRevision: !status.saving && version.revision > revision ? version.revision : undefined,
    ...status,
    save,
    change(content) {
      const next = { revision, ...toContent(version), ...latest.current, ...content };
      const isSame =
        next.revision === version.revision && next.text === undefined && toJson(next) === toJson(version);
      set(isSame ? undefined : next);
    },
    discard() {
      set(undefined);
      setStatus({ saving: false });
    },
  };
}
