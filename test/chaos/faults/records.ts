// Single records that can't be read or stored.
import { getTable } from '../books.ts';
import { farTime, spoil, spoilTime, type TimePlace, touch } from '../edits.ts';
import type { StateFault } from '../plan-names.ts';
import { type FaultDefinition, noEnding } from './fault.ts';

/** Listed and counted, but not in any answer that has more than its id. */
const lockedRecord: FaultDefinition = {
  async begin({ fixture: { books, wire }, ledger, onChange }, recordType, random, hit) {
    const ids = await books.ids(recordType);
    if (ids.length === 0) return noEnding;
    const id = random.pick(ids);
    wire.lock({ table: getTable(recordType), id, onTaken: hit });
    const end = ledger.hides({ recordType, ids: [id] });
    if (random.chance(0.6)) {
      await touch(books, recordType, id); // it is locked because someone is editing it
      await onChange();
    }
    return async () => {
      wire.lock(null);
      end();
    };
  },
};

/** A value that the account accepts and the service can't store. */
const badValue: FaultDefinition = {
  async begin({ fixture: { books, wire }, ledger, onChange }, recordType, random, hit) {
    const ids = await books.ids(recordType);
    if (ids.length === 0) return noEnding;
    const id = random.pick(ids);
    const end = ledger.spoiled({ recordType, id });
    await spoil(books, recordType, id, false);
    await onChange();
    const stop = wire.watch(({ text }) => {
      if (text.includes('0'.repeat(100))) hit();
    });
    return async () => {
      stop();
      await spoil(books, recordType, id, true);
      await onChange();
      end();
    };
  },
};

const yearZero = farTime.replace('9999', '0000');
const timePlaces: readonly TimePlace[] = ['modified', 'created'];

/** A time of year 0: the record's own modification time, its creation, or the modification time of a line. */
const badTime: FaultDefinition = {
  async begin({ fixture: { books, wire }, ledger, onChange }, recordType, random, hit) {
    const ids = await books.ids(recordType);
    if (ids.length === 0) return noEnding;
    const id = random.pick(ids);
    const place = random.pick(recordType === 'invoice' ? [...timePlaces, 'line' as const] : timePlaces);
    const end = ledger.spoiled({ recordType, id });
    wire.replace({ text: farTime, by: yearZero });
    await spoilTime(books, recordType, id, place, false);
    await onChange();
    const stop = wire.watch(({ text }) => {
      if (text.includes(yearZero)) hit();
    });
    return async () => {
      stop();
      await spoilTime(books, recordType, id, place, true);
      wire.replace(null);
      await onChange();
      end();
    };
  },
};

export const recordFaults = {
  'locked-record': lockedRecord,
  'bad-value': badValue,
  'bad-time': badTime,
} as const satisfies Partial<Record<StateFault, FaultDefinition>>;
