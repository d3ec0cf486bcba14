// How soon a visitor sees the portal, on the demo's data: its pages next to a public list of the same records, first
// paint in Chromium, and 500 visits of one page each ten seconds. CHROMIUM names the browser. Usage: npm run bench --
// portal [requests of each kind, default 200]
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BrowserContextOptions, chromium } from 'playwright-core';
import { startDemo } from './demo-process.ts';
import { describeComputer, describeLoad, type Line, median, p95, toLine, writeTable } from './table.ts';
import { withWorkspace } from './workspace.ts';

type Headers = Readonly<Record<string, string>>;
type Target = { readonly url: string; readonly headers: Headers };

/** Milliseconds to the first byte. Throws when the page isn't there. */
async function timeFirstByte({ url, headers }: Target): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers });
  const tookMs = performance.now() - startedAt;
  await response.text();
  if (response.status !== 200) throw new Error(`${url}: ${response.status}`);
  return tookMs;
}

async function startVisit(origin: string): Promise<Headers> {
  const init: RequestInit = { method: 'POST', redirect: 'manual', headers: { origin } };
  const { headers } = await fetch(`${origin}/portal/demo/demo`, init);
  const cookie = headers.getSetCookie().map((one) => one.split(';')[0]);
  return { cookie: cookie.join('; '), accept: 'text/html' };
}

/** The list of the visitor's invoices by the public interface, which one of them names. */
async function findPublicList(folder: string, { url, headers }: Target): Promise<Target> {
  const { apiKey, tenantId } = JSON.parse(await readFile(path.join(folder, 'demo.json'), 'utf8'));
  const key = { authorization: `Bearer ${apiKey}`, 'x-tenant-id': tenantId };
  const [, id] = /records\/invoice\/(\d+)/.exec(await (await fetch(url, { headers })).text()) ?? [];
  const { origin } = new URL(url);
  const invoice = (await (
    await fetch(`${origin}/api/public/v1/invoices/${id}`, { headers: key })
  ).json()) as {
    data: { customerId: number };
  };
  const query = `customerId=${invoice.data.customerId}&pageSize=25`;
  return { url: `${origin}/api/public/v1/invoices?${query}`, headers: key };
}

const pages = ['list', 'overview', 'record'] as const;
const names = ['public list', ...pages] as const;
type Targets = Readonly<Record<(typeof names)[number], Target>>;
type Times = Record<(typeof names)[number], number[]>;

/** Longer than the process keeps what it looked up, as between two pages of one visitor. */
const pauseMs = 1_500;
const pausedRounds = 15;

/** One after the other, each kind in turn. */
async function timeInTurn(targets: Targets, rounds: number, waitMs = 0): Promise<Times> {
  const times: Times = { 'public list': [], list: [], overview: [], record: [] };
  for (let round = waitMs > 0 ? 0 : -10; round < rounds; round += 1)
    for (const name of names) {
      await sleep(waitMs);
      const tookMs = await timeFirstByte(targets[name]);
      if (round >= 0) times[name].push(tookMs);
    }
  return times;
}

const firstPaint = `new Promise((resolve) => {
  const look = () => {
    const [entry] = performance.getEntriesByName('first-contentful-paint');
    if (entry === undefined) setTimeout(look, 20);
    else resolve(entry.startTime);
  };
  look();
})`;

/** First contentful paint of the pages of a visitor who has been there before. */
async function paint(origin: string, target: Target, visits: number): Promise<number[]> {
  const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium' });
  const cookies = (target.headers['cookie'] ?? '').split('; ').map((pair) => {
    const at = pair.indexOf('=');
    return { name: pair.slice(0, at), value: pair.slice(at + 1), url: origin };
  });
  const options: BrowserContextOptions = { viewport: { width: 1280, height: 860 } };
  const context = await browser.newContext(options);
  await context.addCookies(cookies);
  const times: number[] = [];
  for (let visit = 0; visit <= visits; visit += 1) {
    const page = await context.newPage();
    await page.goto(target.url);
    const paintedMs = await page.evaluate<number>(firstPaint);
    if (visit > 0) times.push(paintedMs);
    await page.close();
  }
  await browser.close();
  return times;
}

const visitCount = 500;
const everyMs = 10_000;
const loadMs = 30_000;

/** Every visit asks for its list each ten seconds, when it is due; the public list is read once a second meanwhile. */
async function timeUnderLoad(visits: readonly Headers[], { list, ...targets }: Targets) {
  const times: { list: Promise<number>[]; others: Promise<number>[] } = { list: [], others: [] };
  const startedAt = performance.now();
  const count = (loadMs / everyMs) * visits.length;
  for (let index = 0; index < count; index += 1) {
    const dueAt = startedAt + (index * everyMs) / visits.length;
    await sleep(Math.max(0, dueAt - performance.now()));
    const headers = visits[index % visits.length] ?? {};
    const isLate = performance.now() - dueAt;
    times.list.push(timeFirstByte({ url: list.url, headers }).then((tookMs) => tookMs + isLate));
    if (index % (visits.length / 10) === 0) times.others.push(timeFirstByte(targets['public list']));
  }
  return { list: await Promise.all(times.list), others: await Promise.all(times.others) };
}

const atMost = (bound: number) => ({ target: bound, floor: bound, lowerIsBetter: true });

async function findTargets(origin: string, folder: string, headers: Headers): Promise<Targets> {
  const at = (page: string): Target => ({ url: `${origin}/portal/demo/${page}`, headers });
  const list = at('records/invoice');
  const [first = ''] = /records\/invoice\/\d+/.exec(await (await fetch(list.url, { headers })).text()) ?? [];
  return { list, overview: at(''), record: at(first), 'public list': await findPublicList(folder, list) };
}

async function measureFirstBytes(targets: Targets, rounds: number) {
  const times = await timeInTurn(targets, rounds);
  const paused = await timeInTurn(targets, pausedRounds, pauseMs);
  const [least, leastPaused] = [median(times['public list']), median(paused['public list'])];
  const lines = [
    toLine('public list of the same records, first byte, after a pause', leastPaused, ' ms', 1),
    ...pages.map((name) =>
      toLine(`${name}, first byte / that`, median(paused[name]) / leastPaused, '', 2, atMost(3)),
    ),
    toLine('public list, first byte, one request after the other', least, ' ms', 1),
    ...pages.map((name) => toLine(`${name}, first byte / that`, median(times[name]) / least, '', 2)),
  ];
  return { lines, leastPaused };
}

async function measurePaint(origin: string, { list, overview }: Targets): Promise<Line[]> {
  const startPage = median(await paint(origin, { url: origin, headers: list.headers }, 20));
  const painted = { list: await paint(origin, list, 20), overview: await paint(origin, overview, 20) };
  return [
    toLine('start page, first contentful paint', startPage, ' ms', 0),
    toLine('list, first contentful paint', painted.list, ' ms', 0, atMost(300)),
    toLine('… / start page', median(painted.list) / startPage, '', 2),
    toLine('overview, first contentful paint', painted.overview, ' ms', 0, atMost(300)),
  ];
}

async function measureLoad(origin: string, targets: Targets, leastPaused: number): Promise<Line[]> {
  const visits: Headers[] = [];
  while (visits.length < visitCount) visits.push(await startVisit(origin));
  const loaded = await timeUnderLoad(visits, targets);
  const slower = median(loaded.others) / leastPaused;
  return [
    toLine(`${visitCount} visits, a list each ten seconds: p95`, p95(loaded.list), ' ms', 0, atMost(300)),
    toLine('… median', median(loaded.list), ' ms', 1),
    toLine('… public list meanwhile, median / alone', slower, '', 2, atMost(1.2)),
  ];
}

async function measure(origin: string, folder: string, rounds: number): Promise<Line[]> {
  const targets = await findTargets(origin, folder, await startVisit(origin));
  const { lines, leastPaused } = await measureFirstBytes(targets, rounds);
  return [
    ...lines,
    ...(await measurePaint(origin, targets)),
    ...(await measureLoad(origin, targets, leastPaused)),
  ];
}

const rounds = Number(process.argv[2] ?? 200);
await withWorkspace(async (folder) => {
  const demo = await startDemo(folder);
  const lines = await measure(demo.url, folder, rounds).finally(() => demo.stop());
  const heading = `Run of ${new Date().toISOString().slice(0, 10)}, ${rounds} requests of each kind.`;
  return writeTable('portal', `${heading}\n${describeComputer()}.${describeLoad()}`, lines);
});
