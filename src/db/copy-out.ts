// The rows of a COPY … TO STDOUT as they come over the connection, at the pace of whoever takes them. pg-copy-streams makes two
// objects for each row and leaves what it read to the garbage collector.
import type { Readable } from 'node:stream';
import type { Connection, PoolClient } from 'pg';

export type CopyOut = {
  /** The rows' bytes, cut anywhere; each piece is gone when the next is asked for. Throws what PostgreSQL says, also when the connection breaks. */
  readonly pieces: AsyncGenerator<Buffer, void, undefined>;
  /** What PostgreSQL counted; null until it said so, which is before the answer to the next statement. */
  rowCount(): number | null;
};

/** Letters of messages: data, and what may stand before and between them and is nobody's concern. Any other ends the data. */
const copyData = 0x64;
const passedOver = new Set(Buffer.from('HSNA'));
const headerBytes = 5;

/** Takes the payload out of messages, cut anywhere. */
export function openMessages(): { take(given: Buffer): { payload: Buffer; rest: Buffer | undefined } } {
  /** Bytes that the message under way still has. */
  let left = 0;
  let isData = false;
  let begun: Buffer | undefined;
  return {
    /** `rest` is there once the data are over: what belongs to others. The payload lies where the given bytes lay. */
    take(given) {
      const bytes = begun === undefined ? given : Buffer.concat([begun, given]);
      begun = undefined;
      let [at, to] = [0, 0];
      while (at < bytes.length) {
        if (left === 0) {
          if (bytes.length - at < headerBytes) {
            begun = Buffer.from(bytes.subarray(at));
            break;
          }
          const letter = bytes[at] as number;
          isData = letter === copyData;
          if (!isData && !passedOver.has(letter)) return { payload: bytes.subarray(0, to), rest: bytes.subarray(at) };
          left = bytes.readUInt32BE(at + 1) - headerBytes + 1;
          at += headerBytes;
        }
        const end = Math.min(at + left, bytes.length);
        if (isData) {
          bytes.copyWithin(to, at, end);
          to += end - at;
        }
        left -= end - at;
        at = end;
      }
      return { payload: bytes.subarray(0, to), rest: undefined };
    },
  };
}

type DataListener = (bytes: Buffer) => void;

/** Takes pg's place at the connection and gives it back when the data are over. */
function standIn(source: Readable, onReadable: () => void): (rest: Buffer) => void {
  const [own] = source.listeners('data') as DataListener[];
  if (own === undefined) throw new Error('nobody reads this connection');
  source.off('data', own);
  source.pause();
  source.on('readable', onReadable);
  return (rest) => {
    source.off('readable', onReadable);
    source.on('data', own);
    own(rest);
    // Whoever took the last `readable` away must resume by hand, when that has had its effect.
    process.nextTick(() => source.resume());
  };
}

/** Frees the memory of bytes that have one of their own at once: until the collector finds it, it counts, and calls the collector. */
function letGo({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}

/** `client` is the caller's until the rows are read or the connection is destroyed. */
export function copyOut(client: PoolClient, text: string): CopyOut {
  let source: Readable | undefined;
  let giveBack: (rest: Buffer) => void = () => undefined;
  let failure: unknown;
  let counted: number | null = null;
  let wake = (): void => undefined;
  const { take } = openMessages();
  client.query({
    submit(connection: Connection) {
      source = connection.stream;
      giveBack = standIn(source, () => wake());
      connection.query(text);
    },
    handleError(error: unknown) {
      failure = error;
      wake();
    },
    handleCommandComplete({ text: tag }: { text: string }) {
      counted = Number(/^COPY (\d+)/.exec(tag)?.[1]);
      wake();
    },
    handleReadyForQuery() {},
  });
  async function* read(): AsyncGenerator<Buffer, void, undefined> {
    for (let over = false; !over || counted === null; ) {
      if (failure !== undefined) throw failure;
      const given: Buffer | null = over ? null : (source?.read() ?? null);
      if (given === null) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const { payload, rest } = take(given);
      if (payload.length > 0) yield payload;
      if (rest === undefined) {
        letGo(given);
        continue;
      }
      over = true;
      giveBack(rest);
    }
  }
  return { pieces: read(), rowCount: () => counted };
}
