// The account's control interface for several faults at once: each adds what it needs and takes that away
// again, and what is put is the sum. Hits are counted while requests pass, because putting anything begins
// their count again.
import type { NetsuiteAccount } from 'netsuite-simulator';
import type { AnswerFault } from '../../../packages/netsuite-simulator/src/answer-faults/answer-fault.ts';
import { sendControl } from '../../setup/account-control.ts';
import type { Ending } from './fault.ts';

export type Lie = AnswerFault;
export type Hidden = {
  readonly tables?: readonly string[];
  readonly columns?: Readonly<Record<string, readonly string[]>>;
  readonly rows?: Readonly<Record<string, readonly string[]>>;
};
export type CustomField = {
  readonly table: string;
  readonly name: string;
  readonly type: string;
  readonly label: string;
};
type State = { readonly hits: readonly number[]; readonly fields: readonly CustomField[] };

export type Control = {
  /** Rejects with an Error unless the answer is a success. */
  send<T>(method: string, path: string, body?: unknown): Promise<T>;
  lie(lies: readonly Lie[], hit: () => void): Promise<Ending>;
  hide(hidden: Hidden): Promise<Ending>;
  /** The role loses these permissions. */
  forbid(permissions: readonly string[]): Promise<Ending>;
  /** Calls `hit` of each lie for the answers that it met since the last call. */
  countHits(): Promise<void>;
  /** Nothing is put, and no custom field is left but those that the account had at the first reset. */
  reset(): Promise<void>;
};

const fieldKey = ({ table, name }: CustomField): string => `${table}/${name}`;

type PutLie = { lie: Lie; counted: number; readonly hit: () => void };

function mergeLists(
  parts: readonly (Readonly<Record<string, readonly string[]>> | undefined)[],
): Record<string, string[]> {
  const merged: Record<string, string[]> = {};
  for (const part of parts)
    for (const [name, values] of Object.entries(part ?? {}))
      merged[name] = [...new Set([...(merged[name] ?? []), ...values])];
  return merged;
}

/** With as many answers left as it may still meet; null when there are none. */
function toRemaining({ lie, counted }: PutLie): Lie | null {
  if (lie.times === undefined) return lie;
  return lie.times > counted ? { ...lie, times: lie.times - counted } : null;
}

export function openControl(account: NetsuiteAccount): Control {
  const send: Control['send'] = (method, path, body) => sendControl(account, method, path, body);
  let lies: PutLie[] = [];
  let own: ReadonlySet<string> | undefined;
  const hidden = new Set<Hidden>();
  const forbidden = new Set<readonly string[]>();
  /** In the order of the last put. */
  let put: PutLie[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const turn = last.then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  let seen: number[] = [];
  const count = async (): Promise<void> => {
    if (put.length === 0) return;
    const { hits } = await send<State>('GET', '/state');
    for (const [index, entry] of put.entries()) {
      const met = (hits[index] ?? 0) - (seen[index] ?? 0);
      for (let n = 0; n < met; n += 1) entry.hit();
      entry.counted += Math.max(0, met);
    }
    seen = [...hits];
  };
  const putLies = async (change: () => void): Promise<void> => {
    await count();
    change();
    put = lies.filter((entry) => toRemaining(entry) !== null);
    seen = [];
    await send('PUT', '/faults', put.map(toRemaining));
  };
  const putHidden = () =>
    send('PUT', '/hidden', {
      tables: [...new Set([...hidden].flatMap(({ tables = [] }) => tables))],
      columns: mergeLists([...hidden].map(({ columns }) => columns)),
      rows: mergeLists([...hidden].map(({ rows }) => rows)),
    });
  const putRole = () =>
    send('POST', '/role', {
      permissions: Object.fromEntries([...forbidden].flat().map((name) => [name, 'none'])),
    });
  /** Adds to what is put and puts it; the ending takes it away again. */
  const add = async <T>(kept: Set<T>, value: T, putAll: () => Promise<unknown>): Promise<Ending> => {
    const change = (work: () => void): Promise<void> =>
      inTurn(async () => {
        work();
        await putAll();
      });
    await change(() => void kept.add(value));
    return () => change(() => void kept.delete(value));
  };
  return {
    send,
    async lie(told, hit) {
      const mine = told.map((lie): PutLie => ({ lie, counted: 0, hit }));
      await inTurn(() => putLies(() => void lies.push(...mine)));
      return () =>
        inTurn(() =>
          putLies(() => {
            lies = lies.filter((entry) => !mine.includes(entry));
          }),
        );
    },
    hide: (wanted) => add(hidden, wanted, putHidden),
    forbid: (permissions) => add(forbidden, permissions, putRole),
    countHits: () => inTurn(count),
    reset: () =>
      inTurn(async () => {
        lies = [];
        put = [];
        hidden.clear();
        forbidden.clear();
        const { fields } = await send<State>('POST', '/reset', {});
        own ??= new Set(fields.map(fieldKey));
        for (const field of fields)
          if (!own.has(fieldKey(field))) await send('DELETE', `/fields/${fieldKey(field)}`);
      }),
  };
}
