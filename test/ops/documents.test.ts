// README.md and the pages in docs as a reader uses them: their commands by copy and paste, in order, in a
// folder where the README's own command started the demo. What they print is compared with what the pages
// show.
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rm, symlink } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { notRun } from '../setup/not-run.ts';
import { type Block, readBlocks } from './documents/blocks.ts';
import { isAsPrinted, textPattern } from './documents/printed.ts';
import { type Environment, openShell, openTerminal, type Shell, type Terminal } from './documents/shell.ts';

/** In the order in which docs/README.md lists them: a reader pays an invoice after having read its amount. */
const index = 'docs/README.md';
const links = readFileSync(index, 'utf8').matchAll(/\]\(([\w-]+\.md)\)/g);
const pages = ['README.md', index, ...[...links].map(([, page = '']) => `docs/${page}`)];
const isRun = ({ use }: Block): boolean => use === 'run' || use === 'terminal';

let scratch: string;
let folder: string;
let environment: Environment;
/**
 * What this machine needs to differ, by what the pages say: other programs may use their ports, and
 * node_modules is there already.
 */
let replacements: readonly (readonly [string, string])[];
const here = (text: string): string =>
  replacements.reduce((result, [from, to]) => result.replaceAll(from, to), text);
const terminals: Terminal[] = [];

async function findFreePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'));
  const ports: number[] = [];
  for (const server of servers) {
    if (!server.listening) await new Promise((resolve) => server.once('listening', resolve));
    const address = server.address();
    if (typeof address === 'object' && address !== null) ports.push(address.port);
  }
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** A folder that looks like a fresh clone after `npm ci`. */
async function createClone(): Promise<void> {
  await mkdir(folder);
  for (const name of await readdir('.'))
    if (!['.data', '.env', '.git'].includes(name)) await symlink(path.resolve(name), path.join(folder, name));
}

beforeAll(async () => {
  scratch = await realpath(await mkdtemp(path.join(tmpdir(), 'portal-documents-')));
  folder = path.join(scratch, 'clone');
  await createClone();
  const [demo, service, erp, control, metrics, backend] = await findFreePorts(6);
  replacements = [
    ['npm ci && ', ''],
    ['npm run erp', `npm run erp -- --port ${erp} --control-port ${control}`],
    [':8090', `:${erp}`],
    [':8091', `:${control}`],
    [':8080', `:${demo}`],
    ['npm run demo', `PORT=${demo} npm run demo`],
    ['PORT=8081', `PORT=${service}`],
    [':8081', `:${service}`],
    ['PORT=8082', `PORT=${backend}`],
    [':8082', `:${backend}`],
    ['9464', String(metrics)],
  ];
  environment = {
    // The reader's Node.js, not the one that npm finds for this repository's scripts.
    PATH: (process.env['PATH'] ?? '')
      .split(path.delimiter)
      .filter((each) => !each.endsWith('node_modules/.bin'))
      .join(path.delimiter),
    HOME: scratch,
    // Packages that the pages install are downloaded once.
    npm_config_cache: process.env['npm_config_cache'] ?? path.join(homedir(), '.npm'),
    npm_config_prefer_offline: 'true',
    NO_COLOR: '1',
  };
});
afterAll(async () => {
  for (const terminal of terminals.reverse()) await terminal.stop();
  await rm(scratch, { recursive: true, force: true });
});

async function runInShell(shell: Shell, block: Block, printed: Block | undefined): Promise<void> {
  const { out, err, failures, statuses } = await shell.run(here(block.text));
  const came = `${block.text}\n--- printed:\n${out}\n--- errors:\n${err}`;
  expect.soft(failures, came).toBe('');
  if (printed === undefined) {
    // What is refused is shown.
    expect
      .soft(
        statuses.filter((status) => status >= 400),
        came,
      )
      .toEqual([]);
  } else if (!isAsPrinted(printed.language, here(printed.text), out))
    expect.soft(came, 'it printed something else').toBe(printed.text);
}

/** All pages use the demo, which goes on running. */
const startsDemo = ({ text }: Block): boolean => text.includes('npm run demo');

async function runInTerminal(block: Block, printed: Block | undefined): Promise<Terminal> {
  const terminal = openTerminal(here(block.text), folder, environment);
  terminals.push(terminal);
  await terminal.seen(new RegExp(textPattern(here(printed?.text ?? ''))));
  return terminal;
}

describe.sequential('the pages, by copy and paste', () => {
  it('docs/README.md lists all pages', () => {
    expect(pages.toSorted()).toEqual(['README.md', ...globSync('docs/*.md')].sort());
  });

  it.each(pages)('%s', { timeout: 600_000 }, async (page) => {
    const blocks = readBlocks(page);
    if (!blocks.some(isRun)) return;
    const shell = await openShell(path.join(scratch, 'shell'), folder, environment);
    const opened: Terminal[] = [];
    try {
      for (const [index, block] of blocks.entries()) {
        const next = blocks[index + 1];
        const printed = next?.use === 'output' ? next : undefined;
        if (block.use === 'run') await runInShell(shell, block, printed);
        if (block.use !== 'terminal') continue;
        const terminal = await runInTerminal(block, printed);
        if (!startsDemo(block)) opened.push(terminal);
      }
      const { out } = await shell.run('pwd -P');
      expect(out.trim(), 'the next page starts in the folder of the demo').toBe(folder);
    } finally {
      await shell.close();
      for (const terminal of opened.reverse()) await terminal.stop();
    }
  });

  it('docs/record-access.md, with the backend in Python', { timeout: 120_000 }, async (context) => {
    if (spawnSync('python3', ['--version'], { env: environment }).status !== 0)
      return context.skip(notRun('python3 is not installed'));
    const blocks = readBlocks('docs/record-access.md');
    const inNode = 'npx node docs/examples/customer-tokens/server.ts';
    const inPython = 'python3 docs/examples/customer-tokens/server.py';
    const start = blocks.findIndex(({ use, text }) => use === 'terminal' && text.includes(inNode));
    const ask = blocks.findIndex(
      ({ use, text }, index) => index > start && use === 'run' && text.includes('/records-token'),
    );
    const [server, ready, asked, answer] = [blocks[start], blocks[start + 1], blocks[ask], blocks[ask + 1]];
    if (server === undefined || asked === undefined || answer?.use !== 'output')
      throw new Error('the page has no backend, or nothing asks it');
    const lastLine = server.text.split('\n').at(-1)?.replace(inNode, inPython);
    expect(
      blocks.map(({ text }) => text),
      'the page shows the same command',
    ).toContain(lastLine);
    const shell = await openShell(path.join(scratch, 'shell'), folder, environment);
    const terminal = await runInTerminal({ ...server, text: server.text.replace(inNode, inPython) }, ready);
    try {
      await runInShell(shell, asked, answer);
    } finally {
      await terminal.stop();
      await shell.close();
    }
  });
});

describe('a shell', () => {
  it('keeps what a block sets, and reports every command that fails and every status', async () => {
    const server = createHttpServer((request, response) =>
      response.writeHead(request.url === '/' ? 200 : 404).end('body'),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const shell = await openShell(path.join(scratch, 'shell'), folder, environment);
    expect(
      await shell.run(`A=http://127.0.0.1:${port}; get() { curl -s "$@"; }\ncat <<'END'\n$A\nEND`),
    ).toMatchObject({
      out: '$A\n',
      failures: '',
    });
    expect(await shell.run('X=$(get "$A" "$A/none")\necho "$X"')).toMatchObject({
      out: 'bodybody\n',
      failures: '',
      statuses: [200, 404],
    });
    expect(await shell.run('false\necho on')).toMatchObject({
      out: 'on\n',
      failures: expect.stringContaining('exit code 1: false'),
    });
    expect((await shell.run('get http://127.0.0.1:1')).failures).toContain('exit code 7');
    await expect(shell.run('echo "$UNKNOWN"')).rejects.toThrow('UNKNOWN: unbound variable');
    await shell.close();
    server.close();
  });

  it('has terminals, which report a command that ends before it printed what was expected', async () => {
    await expect(openTerminal('echo something', folder, environment).seen(/else/)).rejects.toThrow(
      'something',
    );
    const terminal = openTerminal('echo ready; sleep 600', folder, environment);
    await terminal.seen(/ready/);
    await terminal.stop();
  });
});

describe('a page', () => {
  const fence = (info: string, text = 'true') => `\`\`\`${info}\n${text}\n\`\`\`\n\n`;

  it('is read block by block, in lists too', () => {
    const page = `1. First\n\n   ${fence('sh').replaceAll('\n', '\n   ')}\n${fence('text output', 'a')}${fence('sh not run: no ERP')}`;
    expect(readBlocks('x.md', page)).toEqual([
      { text: 'true', language: 'sh', use: 'run' },
      { text: 'a', language: 'text', use: 'output' },
      { text: 'true', language: 'sh', use: 'unused' },
    ]);
  });

  it.each([
    ['json', 'a block without a mark', fence('json')],
    ['', 'a block without a language', fence('')],
    ['sh not run:', 'a reason that is missing', fence('sh not run:')],
    ['json not run: x', 'commands in another language', fence('json not run: x')],
    ['json output', 'output of nothing', fence('sh not run: x') + fence('json output')],
    ['sh terminal', 'a terminal that prints nothing', fence('sh terminal')],
    ['sh', 'a comment', fence('sh', 'true # yes')],
    ['sql', 'what no other test reads', fence('sql')],
  ])('is refused for %s: %s', (_info, _what, text) => {
    expect(() => readBlocks('docs/x.md', text)).toThrow('docs/x.md: ');
  });

  it.each([
    ['json', '{"a":1,"b":"x…z",…}', '{"b":"xyz","a":1,"c":2}', true],
    ['json', '{"a":1,…}', '{"a":2}', false],
    ['json', '{"a":1}', '{"a":1,"b":2}', false],
    ['json', '{"a":…}', '{"b":1}', false],
    ['json', '{"a":[1,…]}', '{"a":[1,2,3]}', true],
    ['json', '{"a":[1,…]}', '{"a":[2,1]}', false],
    ['json', '{"a":[1]}', '{"a":[1,2]}', false],
    ['json', '{"a":{…},"b":[…]}', '{"a":{"c":1},"b":[]}', true],
    ['json', '{"a":{…}}', '{"a":[]}', false],
    ['json', '{"a":"1"}', '{"a":1}', false],
    ['json', '{}', 'no JSON', false],
    ['text', 'a\n…\nb … d', 'a\r\nx\r\ny\r\nb c d\r\n', true],
    ['text', 'a\n…\nb', 'a\nb\nc\n', false],
    ['text', 'a.c', 'abc', false],
  ])('compares %s: %s with %s', (language, printed, came, isSame) => {
    expect(isAsPrinted(language, printed, came)).toBe(isSame);
  });
});
