// Record types that the connector's code never names, from metadata to a published resource: each is
// described, synced in full and incrementally, loses a record, and is served over HTTP exactly as the
// account's own database has it.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { readTruth, type Shape, toSource } from '../chaos/oracle/account.ts';
import { readShape } from '../chaos/oracle/published.ts';
import { toContent } from '../chaos/oracle/served.ts';
import { choosePart } from '../setup/choose-part.ts';
import { useStarted } from '../setup/use-started.ts';
import { listRecordTypes, openCompany, type Run } from './company.ts';
import {
  changeRecord,
  createFirstOfTheirKind,
  createRecord,
  customTypes,
  deleteRecord,
  findAny,
  standardTypes,
} from './walked-types.ts';

const walked = choosePart([...standardTypes, ...customTypes], 3);
const names = walked.map(({ name }) => name);
const dayMs = 86_400_000;
const connectors = path.join(import.meta.dirname, '../../src/connectors');

const company = useStarted(() => openCompany());
let shapes: Shape<string>[];
const configs = new Map<string, string>();
beforeAll(async () => {
  await createFirstOfTheirKind(company);
  expect((await company.api('post', '/netsuite/metadata/refresh')).status).toBe(200);
});

/** Where what is served differs from the account; a record that one side lacks is named. */
async function differences(
  runs: ReadonlyMap<string, Run>,
  isJudged: (source: string) => boolean = () => true,
): Promise<string[]> {
  const found: string[] = [];
  for (const shape of shapes) {
    const { recordType, fields } = shape;
    const snapshot = await company.read(recordType, runs.get(recordType)?.generation ?? '0');
    const truth = await readTruth(company.account, shape, undefined);
    const absent = [...truth.records.keys()].filter((id) => !snapshot.records.has(id));
    found.push(...absent.map((id) => `${recordType} ${id} is not served`));
    for (const [id, record] of snapshot.records) {
      const expected = truth.records.get(id);
      const served = toContent(shape, record);
      const differing = fields
        .filter((_field, index) => served.cells[index] !== expected?.cells[index])
        .map(toSource)
        .filter(isJudged);
      if (served.lines?.join() !== expected?.lines?.join()) differing.push('lines');
      if (differing.length > 0)
        found.push(
          `${recordType} ${id}: ${expected === undefined ? 'not in the account' : differing.join(', ')}`,
        );
    }
  }
  return found;
}

/** The record types of which a run counted none of these. */
const without = (
  runs: ReadonlyMap<string, Run>,
  ...counts: readonly ('inserted' | 'updated' | 'deleted')[]
): string[] =>
  [...runs]
    .filter(([, run]) => counts.some((count) => run.counts[count] < 1))
    .map(([recordType]) => recordType);

describe('25 standard and 5 custom record types', () => {
  it('are named nowhere in the code of the connectors', () => {
    expect([standardTypes.length >= 25, customTypes.length]).toEqual([true, 5]);
    const sources = readdirSync(connectors, { recursive: true, encoding: 'utf8' }).filter((file) =>
      file.endsWith('.ts'),
    );
    expect(sources.length).toBeGreaterThan(20);
    const text = sources
      .map((file) => readFileSync(path.join(connectors, file), 'utf8'))
      .join('\n')
      .replaceAll(/^\s*\/\/.*$|\/\*\*.*?\*\//gms, '')
      // All types of which there may be deletions: to leave out those that clearly belong to another type.
      .replace(/\nconst otherNames: .*?\n\]\);/s, '');
    // As a literal, as a name among others in a literal, or as a key.
    expect(
      names.filter((name) =>
        new RegExp(`['"\`\\s]${name}['"\`]|['"\`]${name}\\s|\\b${name}:`, 'i').test(text),
      ),
    ).toEqual([]);
  });

  it('are listed and described', { timeout: 600_000 }, async () => {
    shapes = [];
    for (const name of names) {
      const { status, body } = await company.api('get', `/netsuite/metadata/${name}`);
      expect([name, status, body.reason ?? null]).toEqual([name, 200, null]);
      expect(body).toMatchObject({
        name,
        custom: /^custom(record|list)_/.test(name),
        reading: { curated: false },
      });
      shapes.push(await readShape(company.api, name));
    }
    expect(await listRecordTypes(company)).toEqual(expect.arrayContaining(names));
    const syncable = await listRecordTypes(company, '&syncable=true');
    expect(names.filter((name) => !syncable.includes(name))).toEqual([]);
  });

  it('are synced by one request, whose dry run counts their records', { timeout: 600_000 }, async () => {
    const planned = await company.api('post', '/sync-configs/bulk', { recordTypes: names, dryRun: true });
    expect([planned.status, planned.body.error]).toEqual([200, undefined]);
    const made = await company.api('post', '/sync-configs/bulk', { recordTypes: names, dryRun: false });
    expect(made.status).toBeLessThan(300);
    for (const { recordType, status, reason, syncConfigId } of made.body.data) {
      expect({ recordType, status, reason }).toEqual({ recordType, status: 'created', reason: null });
      configs.set(recordType, syncConfigId);
    }
    expect([...configs.keys()].sort()).toEqual([...names].sort());
    const runs = await company.sync(configs, 'full');
    const counted = planned.body.data.map(
      ({ recordType, records }: { recordType: string; records: number }) => [recordType, records],
    );
    expect(new Map(counted)).toEqual(new Map(names.map((name) => [name, runs.get(name)?.counts.inserted])));
    await company.publish(shapes);
    expect(await differences(runs)).toEqual([]);
  });

  it('follow what is created, changed and deleted', { timeout: 600_000 }, async () => {
    const made: string[] = [];
    for (const type of walked) {
      const existing = await findAny(company, type);
      made.push(await createRecord(company, type, existing));
      await changeRecord(company, type, existing);
    }
    const changed = await company.sync(configs, 'incremental');
    expect(without(changed, 'inserted', 'updated')).toEqual([]);
    // What other records show of a renamed one is compared once a day.
    expect(await differences(changed, (source) => !source.endsWith('.name'))).toEqual([]);
    for (const [index, type] of walked.entries())
      await deleteRecord(company, type, made[index] ?? '', index % 2 === 0);
    const deleted = await company.sync(configs, 'incremental');
    expect(without(deleted, 'deleted')).toEqual([]);
    await company.erp.account.setBusinessTime(new Date(company.account.now().getTime() + dayMs));
    expect(await differences(await company.sync(configs, 'incremental'))).toEqual([]);
  });

  it('are not written again when nothing changes', { timeout: 600_000 }, async () => {
    for (const mode of ['incremental', 'full'] as const) {
      const runs = await company.sync(configs, mode);
      const written = [...runs].filter(
        ([, { counts }]) => counts.inserted + counts.updated + counts.deleted > 0,
      );
      expect(written.map(([recordType, { counts }]) => ({ mode, recordType, counts }))).toEqual([]);
    }
  });
});
