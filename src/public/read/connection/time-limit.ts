// Bounds a read as a whole: the time limit of a statement covers neither waits for connections nor the
// repetition of a statement.
import { timedOut } from './failures.ts';
import type { LargePermit } from './large-reads.ts';
import type { Reader, ReadInProgress } from './reader.ts';

/**
 * Runs a read. It rejects with 503 when it takes longer than the time limit, and then starts no further
 * statement; otherwise with the error of the read. A permit for a large read goes to `holdLarge`, or ends
 * with the read.
 */
export function withinTimeLimit<T>(reader: Reader, read: (reader: Reader) => Promise<T>): Promise<T> {
  const { largeReads, organizationId, holdLarge } = reader;
  let permit: LargePermit | undefined;
  const progress: ReadInProgress = {
    isOver: false,
    acquireLarge: async () => {
      if (permit !== undefined) return;
      permit = await largeReads.acquire(organizationId);
      holdLarge?.(permit);
    },
  };
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      progress.isOver = true;
      reject(timedOut());
    }, reader.timeoutMs);
    const end = (): void => {
      clearTimeout(timer);
      if (holdLarge === undefined) permit?.release();
    };
    read({ ...reader, progress }).then(
      (result) => {
        end();
        resolve(result);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}
