// A replica that follows delta links, and one that reads by modification time, stay equal to the service's records under
// random edits.
import { describe, expect, it } from 'vitest';
import { createRandom } from '../src/generate.ts';
import type { ODataSimulator } from '../src/index.ts';
import { type Json, startClient } from './simulated.ts';

const EDITS = 300;
const SEEDS = [1, 2, 3];

type Pick = (below: number) => number;
const createPick = (seed: number): Pick => {
  const random = createRandom(seed);
  return (below) => Math.floor(random() * below);
};

function editAtRandom({ records }: ODataSimulator, pick: Pick): void {
  const { records: all } = records.list({ table: 'Orders' }, { limit: 1_000 });
  const { id = '', lines = [] } = all[pick(Math.max(1, all.length))] ?? {};
  const place = { table: 'Orders', id };
  const kind = all.length < 5 ? 0 : pick(6);
  if (kind === 0) records.create({ table: 'Orders' }, pick(2) === 0 || id === '' ? {} : { like: id });
  else if (kind === 1) records.remove(place, true);
  else if (kind === 2) records.patch(place, { fields: { Number: `N${pick(1_000)}` } });
  else if (kind === 3)
    records.put(place, { fields: { Total: '1.25' }, lines: [{ line: '1', fields: { Amount: '1.25' } }] });
  else {
    const line = kind === 4 ? String(1 + pick(8)) : lines[0]?.line;
    const fields = kind === 4 ? { Amount: `${pick(100)}.5` } : null;
    records.patch(place, line === undefined ? {} : { lines: [{ line, fields }] });
  }
}

const toPlain = ({ records }: ODataSimulator): Map<number, unknown> =>
  new Map(
    records
      .list({ table: 'Orders' }, { limit: 1_000 })
      .records.map(({ fields, lines = [] }) => [
        Number(fields['Id']),
        [fields['Number'], lines.map((line) => [Number(line.line), line.fields['Amount']])],
      ]),
  );
const toEntry = ({ Id, Number: number, Lines = [] }: Json): [number, unknown] => [
  Id,
  [number, Lines.map(({ LineNo, Amount }: Json) => [LineNo, Amount])],
];

describe('a replica', () => {
  it.each(SEEDS)('follows delta links with lines, in pages of any size (seed %i)', async (seed) => {
    const pick = createPick(seed);
    const client = await startClient({ profile: 'generic', generate: { Orders: { count: 20, lines: 2 } } });
    const query = 'Orders?$select=Id,Number&$expand=Lines($select=LineNo,Amount)';
    const accept = 'application/json;IEEE754Compatible=true';
    const first = await client.all(query, { accept, prefer: 'track-changes,maxpagesize=7' });
    const replica = new Map(first.values.map(toEntry));
    let link = first.last['@deltaLink'];
    for (let i = 1; i <= EDITS; i += 1) {
      editAtRandom(client.simulator, pick);
      if (i % 10 !== 0) continue;
      const changes = await client.all(link, { accept, prefer: `maxpagesize=${1 + pick(8)}` });
      for (const change of changes.values) {
        if (change['@removed'] === undefined) replica.set(...toEntry(change));
        else replica.delete(change.Id);
      }
      link = changes.last['@deltaLink'];
      const truth = toPlain(client.simulator);
      expect([...replica].sort(([a], [b]) => a - b)).toEqual([...truth].sort(([a], [b]) => a - b));
    }
    await client.simulator.stop();
  });

  it.each(SEEDS)('reads by modification time and key what is still there (seed %i)', async (seed) => {
    const pick = createPick(seed);
    const client = await startClient({ profile: 'generic', generate: { Orders: { count: 20, lines: 2 } } });
    const replica = new Map<number, unknown>();
    let [time, key] = ['2000-01-01T00:00:00Z', 0];
    for (let i = 1; i <= EDITS; i += 1) {
      editAtRandom(client.simulator, pick);
      if (i % 10 !== 0) continue;
      for (;;) {
        const filter = `ModifiedAt gt ${time} or (ModifiedAt eq ${time} and Id gt ${key})`;
        const { body } = await client.get(
          `Orders?$orderby=ModifiedAt,Id&$top=5&$expand=Lines&$filter=${encodeURIComponent(filter)}`,
          { accept: 'application/json;IEEE754Compatible=true' },
        );
        for (const order of body.value) replica.set(...toEntry(order));
        const last = body.value.at(-1);
        if (last === undefined) break;
        [time, key] = [last.ModifiedAt, last.Id];
      }
      for (const [id, order] of toPlain(client.simulator)) expect([id, replica.get(id)]).toEqual([id, order]);
    }
    await client.simulator.stop();
  });
});
