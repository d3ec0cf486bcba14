import { afterAll, beforeAll, expect, it } from 'vitest';
import { bindDocument, indexesOf, readAvailable, SchemaDocument } from '../../src/public/index.ts';
import { proveVersion } from '../../src/public/prove.ts';
import { buildWantedIndexes, rememberWantedIndexes } from '../../src/sync/index.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeOrganization } from '../setup/organization.ts';
import { invoicesEndpoint, loadInvoices } from './fixture.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await testDatabase();
});
afterAll(() => database.close());

it.each([2000, 20000])('x %d', async (n) => {
  const { id } = await makeOrganization(database.ctx);
  let t = performance.now();
  const rows = Array.from({ length: n }, (_, i) => ({
    id: i + 1,
    tranid: `INV${i}`,
    status: i % 100 === 0 ? 'open' : 'paid',
    total: `${(i * 37) % 5000}.50`,
    seq: `${i}`,
    paid: i % 3 === 0,
    trandate: `2026-0${1 + (i % 9)}-1${i % 10}`,
    lastmodified: `2026-01-31T00:00:${10 + (i % 50)}Z`,
    entity: 'x',
    entityName: `Customer ${i % 70}`,
    lines: null,
  }));
  await loadInvoices(database.ctx, id, rows);
  console.log('load', performance.now() - t);
  const ctx = { ...database.ctx, organizationId: id };
  const document = SchemaDocument.parse({ endpoints: [invoicesEndpoint] });
  const available = await readAvailable(ctx);
  const bindings = bindDocument(document, available);
  t = performance.now();
  for (const [type, specs] of indexesOf(document, bindings)) {
    await rememberWantedIndexes(ctx, type, specs);
    await buildWantedIndexes(ctx, type, async () => undefined);
  }
  console.log('index', performance.now() - t);
  t = performance.now();
  const proof = await proveVersion(ctx, document, bindings, {
    mostPairs: 2000,
    budgetMs: 1e6,
    warnMs: 250,
    onProgress: async () => undefined,
    signal: new AbortController().signal,
  });
  const trials = proof.pairs.flatMap((p) => p.trials.map((x) => ({ ...p, ...x, trials: 0 })));
  console.log(
    'proof',
    performance.now() - t,
    proof.total,
    proof.pairs.length,
    trials.length,
    trials.reduce((a, b) => a + b.ms, 0),
  );
  console.log(trials.sort((a, b) => b.ms - a.ms).slice(0, 5), trials.filter((x) => !x.byIndex).length, JSON.stringify(proof).length);
  console.log(
    trials
      .slice(0, 40)
      .map((x) => `${x.filter} ${x.sort} ${x.order} ${x.value} ${x.rows} ${x.ms} ${x.firstMs}`)
      .join('\n'),
  );
  expect(proof.timedOut).toEqual([]);
});
