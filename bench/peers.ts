// The public interface beside two general database APIs over the same table, all totals included; the table goes into
// bench/RESULTS.md. Usage: npm run bench:peers -- [records, 1000000 unless told] [rounds, 5] [seconds of a measurement, 2]
import { fileURLToPath } from 'node:url';
import { installPeers, loadAt16, type Peer, type PeerOrder, startDirectus, startPlatformatic } from './peers-servers.ts';
import { dates, type Invoices, loadInvoices, publishInvoices, statuses } from './reads-data.ts';
import type { Ask, Load } from './reads-load.ts';
import { headersOf, listPaths, minimalOrder } from './reads-measure.ts';
import { type Running, readArguments, startMinimal, startService } from './reads-servers.ts';
import { type Goal, type Line, machineText, writeTable } from './table.ts';
import { type Database, inWorkplace, withDatabase } from './workplace.ts';

const peersFolder = fileURLToPath(new URL('../.data/bench-peers', import.meta.url));
const columns = 'f_tranid f_trandate f_duedate f_entity l_entity l_status f_total f_balance f_email f_paid f_memo f_seq'.split(' ');
const starters = { 'platformatic/db 3.67.0': startPlatformatic, 'directus 12.4.0': startDirectus };
const goals: Readonly<Record<keyof typeof starters, readonly [warm: number, cold: number, single: number]>> = {
  'platformatic/db 3.67.0': [6, 1.5, 2],
  'directus 12.4.0': [18, 4, 20],
};
const firstPort = 19_411;
const warmUpMs = 5_000;
const atLeast = (bound: number): Goal => ({ target: bound, floor: bound });

/** `least`: the least server that could answer the same requests, as in the read bench; it counts nothing and checks nothing. */
type Ours = { readonly warm: Running; readonly cold: Running; readonly least: Running };

async function compare(
  name: keyof typeof starters,
  peer: Peer,
  ours: Ours,
  invoices: Invoices,
  ids: readonly number[],
  rounds: number,
  ms: number,
): Promise<Line[]> {
  const headers = headersOf(invoices);
  const list = ({ url }: Running): Ask => ({ url, headers, paths: listPaths });
  const single: Ask = { url: ours.warm.url, headers, paths: ids.map((id) => `/api/public/v1/full/${id}`) };
  const measured = {
    warm: [ours.warm.pid, list(ours.warm)],
    cold: [ours.cold.pid, list(ours.cold)],
    single: [ours.warm.pid, single],
    leastSingle: [ours.least.pid, { ...single, url: ours.least.url }],
    peerList: [peer.pid, peer.list],
    peerSingle: [peer.pid, peer.single],
  } as const;
  type Way = keyof typeof measured;
  for (const [pid, ask] of Object.values(measured)) await loadAt16(pid, ask, warmUpMs);
  const loads: Record<Way, Load>[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const entries: [string, Load][] = [];
    for (const [way, [pid, ask]] of Object.entries(measured)) entries.push([way, await loadAt16(pid, ask, ms)]);
    loads.push(Object.fromEntries(entries) as Record<Way, Load>);
  }
  const line = (what: string, goal: number | null, unit: string, digits: number, of: (round: Record<Way, Load>) => number): Line => ({
    measure: `${name}: ${what}`,
    goal: goal === null ? null : atLeast(goal),
    unit,
    digits,
    values: loads.map(of),
  });
  const ratio =
    (a: Way, b: Way) =>
    (round: Record<Way, Load>): number =>
      round[a].perSecond / round[b].perSecond;
  const [warm, cold, one] = goals[name];
  return [
    line('list, our totals known', warm, '×', 1, ratio('warm', 'peerList')),
    line('list, totals counted on both sides', cold, '×', 1, ratio('cold', 'peerList')),
    line('single', one, '×', 1, ratio('single', 'peerSingle')),
    line('single, the least server in our place', null, '×', 1, ratio('leastSingle', 'peerSingle')),
    line('its lists/s', null, '', 0, (round) => round.peerList.perSecond),
    line('its records/s', null, '', 0, (round) => round.peerSingle.perSecond),
    line('its processor time per record', null, ' µs', 0, (round) => round.peerSingle.cpuUs),
    line('ours', null, ' µs', 0, (round) => round.single.cpuUs),
  ];
}

async function measure(invoices: Invoices, order: PeerOrder, ours: Ours, rounds: number, ms: number): Promise<Line[]> {
  const lines: Line[] = [];
  for (const [index, name] of (Object.keys(starters) as (keyof typeof starters)[]).entries()) {
    try {
      const peer = await starters[name](order, firstPort + index);
      try {
        lines.push(...(await compare(name, peer, ours, invoices, order.ids, rounds, ms)));
      } finally {
        await peer.stop();
      }
    } catch (error) {
      lines.push({ measure: `${name}: not measured: ${String(error).split('\n', 1)[0]}`, goal: null, unit: '', values: [], digits: 0 });
    }
    console.log(name);
  }
  return lines;
}

type Size = { readonly records: number; readonly rounds: number; readonly ms: number };

async function main({ ctx, admin, adminAddress: database }: Database, folder: string, { records, rounds, ms }: Size): Promise<boolean> {
  const services: Running[] = [];
  const start = async (environment: Record<string, string>): Promise<Running> => {
    const service = await startService(folder, { environment });
    services.push(service);
    return service;
  };
  try {
    const invoices = await loadInvoices(ctx, admin, records);
    const warm = await start({ BODY_CACHE_MB: '0' });
    await publishInvoices(warm.url, invoices, admin);
    const cold = await start({ BODY_CACHE_MB: '0', TOTAL_CACHE_MB: '0' });
    const least = await startMinimal(await minimalOrder({ invoices, address: database, admin }));
    services.push(least);
    const pages = Array.from({ length: 20 }, (_, index) => index + 1);
    const lists = statuses.flatMap((status) => dates.flatMap((date) => pages.map((page) => ({ status, date, page }))));
    const ids = Array.from({ length: 10_000 }, () => 1 + Math.floor(Math.random() * records));
    const { schema, table } = invoices;
    const lines = await measure(
      invoices,
      { folder: peersFolder, database, schema, table, columns, lists, ids },
      { warm, cold, least },
      rounds,
      ms,
    );
    const day = ctx.clock.now().toISOString().slice(0, 10);
    const heading = `Run of ${day}: ${records} invoices, ${rounds} rounds, 16 connections.\n${await machineText(admin)}`;
    return await writeTable('bench:peers', heading, lines);
  } finally {
    await Promise.all(services.map((service) => service.stop()));
  }
}

const size = readArguments('bench:peers', process.argv.slice(2));
await inWorkplace(async (folder) => {
  await installPeers(peersFolder);
  return withDatabase(folder, {}, (database) => main(database, folder, size));
});
