// The whole list as a stream, against PostgreSQL's own COPY of the same projection, both thrown away as they come.
import { finished } from 'node:stream/promises';
import { to as copyTo } from 'pg-copy-streams';
import { memoryOf } from './reads-load.ts';
import type { Bench } from './reads-measure.ts';
import { headersOf } from './reads-measure.ts';
import { startService } from './reads-servers.ts';

export type Exported = {
  readonly type: string;
  readonly perSecond: readonly number[];
  readonly copyPerSecond: readonly number[];
  readonly peak: number;
};

const projection = 'id, f_tranid, f_email, f_memo, f_total, f_balance, f_seq, f_paid, f_trandate, f_duedate, f_entity, l_entity, l_status';

async function copyRows({ admin, invoices }: Bench): Promise<number> {
  const client = await admin.connect();
  try {
    const startMs = performance.now();
    const stream = client.query(copyTo(`copy (select ${projection} from ${invoices.schema}.${invoices.table}) to stdout`));
    stream.resume();
    await finished(stream);
    return invoices.records / ((performance.now() - startMs) / 1000);
  } finally {
    client.release();
  }
}

/** Rows per second; undefined where lists are not given out in this form. */
async function exportRows(url: string, { invoices }: Bench, type: string): Promise<number | undefined> {
  const startMs = performance.now();
  const response = await fetch(`${url}/api/public/v1/invoices`, {
    headers: { ...headersOf(invoices), Accept: type, 'Accept-Encoding': 'identity' },
  });
  if (response.status === 406) return undefined;
  if (response.status !== 200 || response.body === null)
    throw new Error(`the export was answered ${response.status}: ${await response.text()}`);
  if (Number(response.headers.get('x-total-count')) !== invoices.records) throw new Error('the export has another number of records');
  const reader = response.body.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read());
  return invoices.records / ((performance.now() - startMs) / 1000);
}

/** Empty while lists have no such form. */
export async function measureExport(bench: Bench): Promise<Exported[]> {
  const results: Exported[] = [];
  for (const type of ['application/x-ndjson', 'text/csv']) {
    const service = await startService(bench.folder, { environment: { BODY_CACHE_MB: '0' } });
    try {
      const [perSecond, copyPerSecond]: [number[], number[]] = [[], []];
      for (let round = 0; round < Math.min(3, bench.rounds); round += 1) {
        const rows = await exportRows(service.url, bench, type);
        if (rows === undefined) break;
        perSecond.push(rows);
        copyPerSecond.push(await copyRows(bench));
      }
      if (perSecond.length > 0) results.push({ type, perSecond, copyPerSecond, peak: (await memoryOf(service.pid)).peak });
    } finally {
      await service.stop();
    }
  }
  return results;
}
