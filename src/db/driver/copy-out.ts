// Streams the rows of a COPY … TO STDOUT from the connection at the reader's pace. Replaces pg-copy-streams,
// which allocates two objects per row and leaves all buffers to the garbage collector.
import type { Readable } from 'node:stream';
import type { ClientBase, Connection } from 'pg';

export type CopyOut = {
  /**
   * The rows' bytes, in pieces that don't end at row boundaries. A piece is only valid until the next one is
   * requested. Rejects with PostgreSQL's error, also when the connection breaks.
   */
  readonly pieces: AsyncGenerator<Buffer, void, undefined>;
  /** Number of rows as PostgreSQL reports it after the last row; null until then. */
  rowCount(): number | null;
};

/**
 * Message types of the wire protocol: CopyData, and those that may appear before and between and are skipped.
 * Any other ends the data.
 */
const copyData = 0x64;
const skippedTypes = new Set(Buffer.from('HSNA'));
const headerBytes = 5;

/** Extracts the payloads from CopyData messages; the input may be cut anywhere. */
export function createCopyDataParser(): {
  take(given: Buffer): { payload: Buffer; rest: Buffer | undefined };
} {
  /** Remaining bytes of the current message. */
  let left = 0;
  let isData = false;
  /** An incomplete message header. */
  let partialHeader: Buffer | undefined;
  return {
    /** `rest` is set once the data have ended: the bytes after them. The payload overwrites given bytes. */
    take(given) {
      const bytes = partialHeader === undefined ? given : Buffer.concat([partialHeader, given]);
      partialHeader = undefined;
      let [at, to] = [0, 0];
      while (at < bytes.length) {
        if (left === 0) {
          if (bytes.length - at < headerBytes) {
            partialHeader = Buffer.from(bytes.subarray(at));
            break;
          }
          const type = bytes[at] as number;
          isData = type === copyData;
          if (!isData && !skippedTypes.has(type))
            return { payload: bytes.subarray(0, to), rest: bytes.subarray(at) };
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

/**
 * Replaces pg's data listener on the connection. Returns the function that restores it and passes it the
 * bytes after the data.
 */
function replaceDataListener(source: Readable, onReadable: () => void): (rest: Buffer) => void {
  const [pgListener] = source.listeners('data') as DataListener[];
  if (pgListener === undefined) throw new Error('The connection has no data listener');
  source.off('data', pgListener);
  source.pause();
  source.on('readable', onReadable);
  return (rest) => {
    source.off('readable', onReadable);
    source.on('data', pgListener);
    pgListener(rest);
    // Removing the last `readable` listener doesn't resume the stream; in the next tick resume() works.
    process.nextTick(() => source.resume());
  };
}

/**
 * Frees a buffer's memory at once if it isn't shared: until it is collected, it counts as external memory and
 * triggers garbage collection.
 */
function freeBuffer({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === length) buffer.transfer(0);
}

/**
 * Runs the COPY statement `text`. The client must not be used for anything else until all rows are read or
 * the connection is destroyed. Rejects with PostgreSQL's error while `pieces` are read.
 */
export function copyOut(client: Pick<ClientBase, 'query'>, text: string): CopyOut {
  let source: Readable | undefined;
  let restoreListener: (rest: Buffer) => void = () => undefined;
  let failure: unknown;
  let counted: number | null = null;
  let wake = (): void => undefined;
  const { take } = createCopyDataParser();
  client.query({
    submit(connection: Connection) {
      source = connection.stream;
      restoreListener = replaceDataListener(source, () => wake());
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
        freeBuffer(given);
        continue;
      }
      over = true;
      restoreListener(rest);
    }
  }
  return { pieces: read(), rowCount: () => counted };
}
