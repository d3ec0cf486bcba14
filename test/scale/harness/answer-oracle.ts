// Keeps every answer that a client of the public interface ever got, and judges the next ones by them: an
// entity tag names one body for ever, and a 304 means the body that a process without caches would send now.
import type { Express } from 'express';
import { type Caller, createCaller } from '../../public/fixture.ts';

export type Answer = {
  readonly address: string;
  /**
   * 0 for an export that broke off: it was streaming when its database server died, and its client knows that
   * it isn't whole.
   */
  readonly status: number;
  readonly tag: string;
  readonly text: string;
  readonly generation: bigint;
};
type Known = { readonly address: string; readonly text: string };

export type Oracle = ReturnType<typeof createOracle>;

/** CSV and lines of JSON have addresses of their own here: a suffix that names the media type. */
const mediaTypes: Readonly<Record<string, string>> = { '#csv': 'text/csv', '#lines': 'application/x-ndjson' };

const chooseAccept = (address: string): Record<string, string> => {
  const suffix = Object.keys(mediaTypes).find((name) => address.endsWith(name));
  return suffix === undefined ? {} : { accept: mediaTypes[suffix] ?? '' };
};

async function ask(app: Express, caller: Caller, address: string, headers: Record<string, string>) {
  const accept = chooseAccept(address);
  try {
    return await createCaller(app, caller)(address.replace(/#.*/, ''), { ...accept, ...headers });
  } catch (error) {
    // Only exports are streamed.
    if ('accept' in accept && (error as { code?: unknown }).code === 'ECONNRESET') return undefined;
    throw error;
  }
}

export function createOracle(caller: Caller) {
  const known = new Map<string, Known>();
  const tagsByPath = new Map<string, string[]>();
  let notModified = 0;
  const read = async (
    app: Express,
    address: string,
    headers: Record<string, string> = {},
  ): Promise<Answer> => {
    const response = await ask(app, caller, address, headers);
    if (response === undefined) return { address, status: 0, tag: '', text: '', generation: 0n };
    const answer: Answer = {
      address,
      status: response.status,
      tag: response.headers['etag'] ?? '',
      text: response.text ?? '',
      generation: BigInt(response.headers['x-data-generation'] ?? 0),
    };
    if (answer.status === 400) throw new Error(`${address} is refused: ${answer.text}`);
    if (answer.status !== 200 || answer.tag === '') return answer;
    const before = known.get(answer.tag);
    if (before === undefined) tagsByPath.set(address, [...(tagsByPath.get(address) ?? []), answer.tag]);
    else if (before.address !== address || before.text !== answer.text)
      throw new Error(
        `${answer.tag} names two bodies:\n${before.address} ${before.text}\n${address} ${answer.text}`,
      );
    known.set(answer.tag, { address, text: answer.text });
    return answer;
  };
  return {
    /**
     * Reads the address and notes the answer. Rejects when its tag named another body before, or the address
     * can't be read at all (400).
     */
    read,
    /**
     * Reads the address as a client that holds one of the tags it got there, and rejects when the answer isn't
     * what `fresh` answers.
     */
    readAgain: async (app: Express, fresh: Express, address: string, choose: <T>(of: readonly T[]) => T) => {
      const tags = tagsByPath.get(address) ?? [];
      const tag = tags.length === 0 ? '"none"' : choose(tags);
      const answer = await read(app, address, { 'if-none-match': tag });
      const now = await read(fresh, address);
      if (answer.status === 304) notModified += 1;
      const text = answer.status === 304 ? known.get(tag)?.text : answer.text;
      const status = answer.status === 304 ? 200 : answer.status;
      if (status !== now.status || (status === 200 && text !== now.text))
        throw new Error(
          `${address} with ${tag} is ${answer.status} ${text}\ninstead of ${now.status} ${now.text}`,
        );
    },
    get tags() {
      return known.size;
    },
    get notModified() {
      return notModified;
    },
  };
}
