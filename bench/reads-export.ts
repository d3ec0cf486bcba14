// Exports of the whole list, compared with PostgreSQL's own COPY of the same projection in any order and with
// COPY of exactly the select that the service sends. The received bytes are discarded.
import { once } from 'node:events';
import { connect } from 'node:net';
import { finished } from 'node:stream/promises';
import { to as copyTo } from 'pg-copy-streams';
import { copyStatement, exportSettings } from '../src/public/export/export-sql.ts';
import { bindDocument, SchemaDocument } from '../src/public/index.ts';
import { planList } from '../src/public/read/plan/plan.ts';
import { compileSchema } from '../src/public/version/compile.ts';
import { readWhole } from '../src/public/version/narrow.ts';
import { buildEndpoints, type Invoices } from './reads-data.ts';
import { readMemory } from './reads-load.ts';
import type { Bench } from './reads-measure.ts';
import { buildHeaders } from './reads-measure.ts';
import { startService } from './reads-servers.ts';

export type ExportResult = {
  readonly type: string;
  readonly perSecond: readonly number[];
  readonly copyPerSecond: readonly number[];
  readonly sameSelectPerSecond: readonly number[];
  readonly peakMegabytes: number;
};

const projection =
  'id, f_tranid, f_email, f_memo, f_total, f_balance, f_seq, f_paid, f_trandate, f_duedate, f_entity, l_entity, l_status';

function sameSelect(invoices: Invoices): string {
  const document = SchemaDocument.parse({ endpoints: buildEndpoints(invoices) });
  const available = {
    invoice: { label: 'Invoice', idType: 'integer' as const, columns: invoices.columns, hasData: true },
  };
  const bindings = bindDocument(document, available);
  const endpoint = compileSchema({ ...document, id: 'bench', version: 'v1', bindings }).endpoints.get(
    'invoices',
  );
  if (endpoint === undefined) throw new Error('The schema has no endpoint named invoices');
  return copyStatement(invoices, planList(readWhole(endpoint), new Map(), { paged: false })).text;
}

async function copyRows({ admin, invoices }: Bench, text: string, settings: string): Promise<number> {
  const client = await admin.connect();
  try {
    await client.query(`begin; ${settings}`);
    const startMs = performance.now();
    const stream = client.query(copyTo(text));
    stream.resume();
    await finished(stream);
    const ms = performance.now() - startMs;
    await client.query('commit');
    return invoices.records / (ms / 1000);
  } finally {
    client.release();
  }
}

const readBytes = 1 << 16;
const responseEnd = '\r\n0\r\n\r\n';

/** Rows per second. Reads with a raw socket into one buffer, so that the reader takes little of the time. */
export async function exportRows(
  url: string,
  { invoices }: Pick<Bench, 'invoices'>,
  type: string,
): Promise<number> {
  const startMs = performance.now();
  const { hostname, port } = new URL(url);
  const [heads, tails]: [string[], Buffer] = [[], Buffer.alloc(responseEnd.length)];
  const socket = connect({
    host: hostname,
    port: Number(port),
    onread: {
      buffer: Buffer.alloc(readBytes),
      callback: (length, buffer) => {
        if (heads.length === 0) heads.push(Buffer.from(buffer.subarray(0, length)).toString('latin1'));
        const tail = buffer.subarray(Math.max(0, length - tails.length), length);
        tails.copyWithin(0, tail.length);
        tails.set(tail, tails.length - tail.length);
        return true;
      },
    },
  });
  const headers = {
    ...buildHeaders(invoices),
    Host: 'bench',
    Connection: 'close',
    Accept: type,
    'Accept-Encoding': 'identity',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`GET /api/public/v1/invoices HTTP/1.1\r\n${lines.join('')}\r\n`);
  await once(socket, 'close');
  const ms = performance.now() - startMs;
  const [head = ''] = heads;
  if (!head.startsWith('HTTP/1.1 200 ') || !head.includes(`X-Total-Count: ${invoices.records}\r\n`))
    throw new Error(`Unexpected response to the export: ${head.slice(0, 500)}`);
  if (tails.toString('latin1') !== responseEnd) throw new Error('The export ended early');
  return invoices.records / (ms / 1000);
}

export async function measureExport(bench: Bench): Promise<ExportResult[]> {
  const results: ExportResult[] = [];
  const text = sameSelect(bench.invoices);
  const copyProjection = `copy (select ${projection} from ${bench.invoices.schema}.${bench.invoices.table}) to stdout`;
  for (const type of ['application/x-ndjson', 'text/csv']) {
    const service = await startService(bench.folder, { environment: { BODY_CACHE_MB: '0' } });
    try {
      const [perSecond, copyPerSecond, samePerSecond]: [number[], number[], number[]] = [[], [], []];
      // Until V8 has compiled what writes the rows.
      await exportRows(service.url, bench, type);
      for (let round = 0; round < bench.rounds; round += 1) {
        perSecond.push(await exportRows(service.url, bench, type));
        copyPerSecond.push(await copyRows(bench, copyProjection, ''));
        samePerSecond.push(await copyRows(bench, text, exportSettings));
      }
      results.push({
        type,
        perSecond,
        copyPerSecond,
        sameSelectPerSecond: samePerSecond,
        peakMegabytes: (await readMemory(service.pid)).peak,
      });
    } finally {
      await service.stop();
    }
  }
  return results;
}
