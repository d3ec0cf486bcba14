// The clients of a simulation through a failover that loses commits: those who follow changes, the one who
// reads lists, and the receiver of webhooks.
import type { RecordTypeName } from '../plan-names.ts';
import type { Copy } from './copy.ts';
import type { Reader } from './reader.ts';
import type { Receiver } from './receiver.ts';

/** The last generations that survived; a record type without one has none. */
export type Survivors = ReadonlyMap<RecordTypeName, bigint>;
export type Clients = {
  /** Everyone sees what is there now. */
  look(): Promise<void>;
  /** Nobody asks until the returned function is called; resolves when the last response is there. */
  pause(): Promise<() => void>;
  /** What they got of later generations is never valid again. */
  lose(survivors: Survivors): void;
};

type Watched = { readonly recordType: RecordTypeName; readonly copy: Copy };

/** `reader` and `receiver` are undefined until there is one; nothing is read until a version is published. */
export function openClients(
  watches: () => Iterable<Watched>,
  isPublished: () => boolean,
  reader: () => Reader | undefined,
  receiver: () => Receiver | undefined,
): Clients {
  return {
    async look() {
      if (!isPublished()) return;
      for (const { copy } of watches()) await copy.follow();
      await reader()?.lap();
      await receiver()?.look();
    },
    async pause() {
      const goOn = [await reader()?.pause(), await receiver()?.pause()];
      return () => {
        for (const each of goOn) each?.();
      };
    },
    lose(survivors) {
      for (const { recordType, copy } of watches()) copy.lose(survivors.get(recordType) ?? 0n);
      reader()?.lose(survivors);
      receiver()?.lose(survivors);
    },
  };
}
