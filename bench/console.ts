// How soon a person sees the console, on the demo's data in a warm service, with an empty and a filled cache of
// the browser, next to the start page of the same process. CHROMIUM names the browser. Usage: npm run bench --
// console [visits, default 20]
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { startDemo } from './demo-process.ts';
import { describeComputer, describeLoad, type Line, median, p95, toLine, writeTable } from './table.ts';
import { withWorkspace } from './workspace.ts';

type Seen = Readonly<Record<'paintMs' | 'headingMs' | 'contentMs' | 'bytes', number>>;

/** Notes when the first heading, and the content of the page, are painted: in the frame after they appear. */
const watch = `globalThis.seen = {}; new MutationObserver(() => {
  for (const [name, selector] of [['headingMs', 'h1'], ['contentMs', '.overview-pair, body > main']])
    if (!(name in seen) && document.querySelector(selector)) {
      seen[name] = Infinity;
      requestAnimationFrame(() => setTimeout(() => { seen[name] = performance.now(); }));
    }
}).observe(document, { childList: true, subtree: true })`;
const paint = `performance.getEntriesByName('first-contentful-paint')[0]`;
const read = `new Promise((resolve) => {
  const isPainted = () => seen.contentMs < Infinity && ${paint} !== undefined;
  const loaded = () => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
    .filter(({ responseEnd }) => responseEnd <= seen.headingMs).reduce((sum, { transferSize }) => sum + transferSize, 0);
  const look = () => isPainted() ? resolve({ ...seen, paintMs: ${paint}.startTime, bytes: loaded() }) : setTimeout(look, 20);
  look();
})`;

async function visit(context: BrowserContext, url: string): Promise<Seen> {
  const page = await context.newPage();
  await page.addInitScript(watch);
  await page.goto(url);
  const seen = await page.evaluate<Seen>(read);
  await page.close();
  return seen;
}

async function signIn(browser: Browser, url: string) {
  const page = await browser.newPage();
  await page.goto(url);
  await page.getByRole('button', { name: /^Open the console/ }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
  return page.context().storageState();
}

function createLines(cache: string, seen: readonly Seen[], startPage: readonly Seen[]): Line[] {
  const of = (key: keyof Seen): number[] => seen.map((each) => each[key]);
  const leastMs = startPage.map(({ paintMs }) => paintMs);
  const goal = { target: 300, floor: 300, lowerIsBetter: true };
  return [
    toLine(`${cache}: first contentful paint`, of('paintMs'), ' ms', 0, goal),
    toLine(`${cache}: first contentful paint, p95`, p95(of('paintMs')), ' ms', 0),
    toLine(`${cache}: first contentful paint of the start page`, leastMs, ' ms', 0),
    toLine(`${cache}: ratio of the two`, median(of('paintMs')) / median(leastMs), '', 2),
    toLine(`${cache}: heading`, of('headingMs'), ' ms', 0),
    toLine(`${cache}: heading, p95`, p95(of('headingMs')), ' ms', 0),
    toLine(`${cache}: numbers`, of('contentMs'), ' ms', 0),
    toLine(`${cache}: loaded`, median(of('bytes')) / 1_000, ' kB', 1),
  ];
}

async function measure(browser: Browser, url: string, visits: number): Promise<Line[]> {
  const storageState = await signIn(browser, url);
  const seen: [Seen[], Seen[], Seen[], Seen[]] = [[], [], [], []];
  for (let round = 0; round < visits; round += 1) {
    const [person, guest] = [await browser.newContext({ storageState }), await browser.newContext()];
    seen[0].push(await visit(person, `${url}/console`));
    seen[1].push(await visit(guest, url));
    seen[2].push(await visit(person, `${url}/console`));
    seen[3].push(await visit(guest, url));
    await Promise.all([person.close(), guest.close()]);
  }
  return [...createLines('empty cache', seen[0], seen[1]), ...createLines('filled cache', seen[2], seen[3])];
}

const visits = Number(process.argv[2] ?? 20);
await withWorkspace(async (folder) => {
  const demo = await startDemo(folder);
  const browser = await chromium.launch({ executablePath: process.env['CHROMIUM'] ?? '/usr/bin/chromium' });
  const lines = await measure(browser, demo.url, visits).finally(() => demo.stop());
  const heading = `Run of ${new Date().toISOString().slice(0, 10)}, ${visits} visits each, Chromium ${browser.version()}.`;
  await browser.close();
  return writeTable('console', `${heading}\n${describeComputer()}.${describeLoad()}`, lines);
});
