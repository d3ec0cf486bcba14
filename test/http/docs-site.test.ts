// The documentation at /docs: every page of docs/ is reached from its start, every link leads somewhere, and a
// search finds the section.
import { readdirSync } from 'node:fs';
import supertest from 'supertest';
import { describe, expect, it } from 'vitest';
import { helpAddress, helpPages } from '../../web/console/src/help.ts';
import { useOrganization } from '../setup/use-organization.ts';

const org = useOrganization();
const open = (address: string) => supertest(org.app).get(address);

/** What links lead to from `/docs`, with the HTML of pages below it. */
async function crawl(): Promise<Map<string, string>> {
  const pages = new Map<string, string>();
  const waiting = ['/docs'];
  for (let address = waiting.pop(); address !== undefined; address = waiting.pop()) {
    if (pages.has(address)) continue;
    const { status, text, headers } = await open(address);
    expect([address, status]).toEqual([address, 200]);
    pages.set(
      address,
      address.startsWith('/docs') && headers['content-type']?.startsWith('text/html') ? text : '',
    );
    for (const [, to = ''] of (pages.get(address) ?? '').matchAll(/(?:href|src)="(\/[^"#]*)/g))
      waiting.push(to);
  }
  return pages;
}

describe('GET /docs', () => {
  it('has all pages of the folder, whose links and anchors all exist', async () => {
    const pages = await crawl();
    const missing = readdirSync('docs')
      .filter((name) => name.endsWith('.md') && name !== 'README.md')
      .filter((name) => !pages.has(`/docs/${name.slice(0, -3)}`));
    expect(missing).toEqual([]);
    expect([...pages.keys()].filter((address) => address.endsWith('.png'))).not.toEqual([]);
    const broken = [...pages].flatMap(([page, html]) =>
      [...html.matchAll(/href="([^"#]*)#([^"]+)"/g)]
        .filter(([, to = '', anchor]) => !(pages.get(to || page) ?? '').includes(`id="${anchor}"`))
        .map(([link]) => `${page}: ${link}`),
    );
    expect(broken).toEqual([]);
    expect([...pages.values()].join('')).not.toMatch(/href="[^":]*\.md/);
  });

  it('explains the screens of the console, and errors', async () => {
    const { headers } = await open('/api/platform/v1/teams').expect(401);
    const [, errors = ''] = /^<([^>]+)>; rel="help"$/.exec(headers['link'] ?? '') ?? [];
    for (const address of [errors, ...Object.keys(helpPages).map((path) => helpAddress(`/${path}`))]) {
      const [page = '', anchor] = address.split('#');
      const { text } = await open(page).expect(200);
      if (anchor !== undefined) expect(text).toContain(`id="${anchor}"`);
    }
  });

  it('serves nothing else', async () => {
    for (const address of [
      '/docs/nothing',
      '/docs/%2e%2e/package.json',
      '/docs/backup.md',
      '/docs/openapi.json',
    ])
      await open(address).expect(404);
    await supertest(org.app).post('/docs').expect(404);
  });
});

describe('GET /docs/search', () => {
  it.each([
    ['rotate encryption key', '/docs/operations#rotate-the-encryption-key'],
    ['rotat encripton', '/docs/operations#rotate-the-encryption-key'],
    ['power query', '/docs/spreadsheets'],
    ['mint token', '/docs/record-access#mint-a-token'],
  ])('finds %s', async (words, address) => {
    const { body } = await open('/docs/search.json').query({ q: words }).expect(200);
    expect(body.data.slice(0, 3).map((one: { address: string }) => one.address)).toContainEqual(
      expect.stringContaining(address),
    );
    const { text } = await open('/docs/search').query({ q: words }).expect(200);
    expect(text).toContain(`href="${body.data[0].address}"`);
  });

  it('answers words that are nowhere, none, too many, and such as are HTML', async () => {
    const { text } = await open('/docs/search').query({ q: '<i>qqqq</i>' }).expect(200);
    expect(text).toContain('Nothing found');
    expect(text).toContain('value="&lt;i&gt;qqqq&lt;/i&gt;"');
    expect((await open('/docs/search.json').expect(200)).body).toEqual({ data: [] });
    await open('/docs/search')
      .query({ q: 'x'.repeat(201) })
      .expect(400);
  });
});
