// Follows change feeds by their events, a connection for each: there is one exactly when something changed in the
// meantime that the feed of the reader reports, and it names nothing else.
import { expect } from 'vitest';
import type { Follower } from './feed.ts';
import { allowedNames, type Case, computeExpected, inspect } from './oracle.ts';
import { plainQuery } from './queries.ts';
import { checkRefusal } from './surfaces.ts';

type Change = { readonly id: string };

/** The readable records by id, each with all that any version shows of it to readers without limits. */
export async function readRows(one: Case): Promise<ReadonlyMap<string, string> | undefined> {
  const { oracle, endpoint } = one;
  const expected = await computeExpected(one, []);
  if (expected.kind === 'refused') return undefined;
  const shown = new Map(expected.whole.map(({ id }) => [id, '']));
  for (const version of oracle.fixture.versions)
    for (const other of version.endpoints) {
      if (other.recordType !== endpoint.recordType) continue;
      for (const record of await oracle.wholeRecords(version, other, plainQuery)) {
        const text = shown.get(record.id);
        if (text !== undefined) shown.set(record.id, text + JSON.stringify(record));
      }
    }
  return shown;
}

export const haveChanged = (before: ReadonlyMap<string, string>, now: ReadonlyMap<string, string>): boolean =>
  before.size !== now.size || [...now].some(([id, text]) => before.get(id) !== text);

/** The field of an event. */
const readField = (text: string, name: string): string | undefined =>
  new RegExp(`^${name}: (.+)$`, 'm').exec(text)?.[1];

/** A client that connects after each change, with the id of the last event. */
export function createStreamFollower(given: Case): Follower {
  const one: Case = { ...given, query: plainQuery };
  const { oracle, reader, version, endpoint } = one;
  const path = `${version.version}/${endpoint.name}/changes`;
  let before: ReadonlyMap<string, string> | undefined;
  let id: string | undefined;

  const checkNext = async (next: string, known: ReadonlySet<string>): Promise<void> => {
    const { status, text } = await oracle.get(reader, next.replace('/api/public/', ''));
    expect(status, text).toBe(200);
    const { data } = JSON.parse(text) as { data: readonly Change[] };
    expect(data.length).toBeGreaterThan(0);
    expect(data.filter((change) => !known.has(change.id))).toEqual([]);
  };
  return {
    catchUp: async () => {
      const headers = { accept: 'text/event-stream', ...(id !== undefined && { 'last-event-id': id }) };
      const answer = await oracle.get(reader, path, headers);
      const now = await readRows(one);
      if (now === undefined) {
        const expected = await computeExpected(one, []);
        return expected.kind === 'refused' ? checkRefusal(one, answer, path, expected) : undefined;
      }
      expect(answer.status, answer.text).toBe(200);
      inspect(one, answer, '', { names: allowedNames(one, 'resource') });
      const data = readField(answer.text, 'data');
      const next = expect.stringMatching(new RegExp(`^/api/public/${path}\\?since=`));
      const named = { version: version.version, resource: endpoint.name, next };
      expect(data === undefined ? null : JSON.parse(data)).toEqual(
        before !== undefined && haveChanged(before, now)
          ? { ...named, generation: expect.any(Number) }
          : null,
      );
      if (data !== undefined)
        await checkNext(JSON.parse(data).next, new Set([...(before ?? now).keys(), ...now.keys()]));
      id = readField(answer.text, 'id');
      before = now;
    },
    stop: async () => undefined,
  };
}
