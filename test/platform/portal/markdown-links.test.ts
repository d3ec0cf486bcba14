// Links in the Markdown of pages: what a renderer could take for a link to anything but http, https and
// mailto is refused, and shown as text where it was stored before.
import { lexer, type Token } from 'marked';
import { describe, expect, it } from 'vitest';
import { createId } from '../../../src/core/id.ts';
import type { Answer } from '../../setup/api.ts';
import { useOrganization } from '../../setup/use-organization.ts';

const org = useOrganization();

const text = { type: 'text', markdown: 'Hello *you*' };
const formatDetails = (details: { path: string; code: string }[] | undefined): string[] =>
  (details ?? []).map(({ path, code }) => `${path} ${code}`);
const toRefusal = ({ status, body }: Answer) => [status, formatDetails(body.error?.details)];
const makePage = (markdown: string) =>
  org.api('post', '/portal/pages', {
    slug: `p-${createId()}`,
    title: 'x',
    blocks: [text, { type: 'text', markdown }],
  });

describe('Markdown of a page', () => {
  const forbidden = [
    '[x](javascript:alert(1))',
    '[x]( javascript:alert(1))',
    '[x](\njavascript:alert(1))',
    '[x](<javascript:alert(1)>)',
    '[x](< javascript:alert(1)>)',
    `[x](<${' '.repeat(400)}javascript:alert(1)>)`,
    '[x](JaVaScRiPt:alert(1))',
    '[x](java\tscript:alert(1))',
    '[x](java\nscript:alert(1))',
    '[x](\u0001javascript:alert(1))',
    '[x](javascript&colon;alert(1))',
    '[x](javascript&#58;alert(1))',
    '[x](&#x6a;avascript:alert(1))',
    '[x](javascript\\:alert(1))',
    '[x](data:text/html;base64,PHNjcmlwdD4=)',
    '[x](vbscript:x)',
    '[x](file:///etc/passwd)',
    '[x](ftp://example.test/)',
    '![x](data:image/svg+xml;base64,x)',
    '[![x](https://example.test/a.png)](javascript:alert(1))',
    '<javascript:alert(1)>',
    'Text <data:text/html,x> text',
    '[x]\n\n[x]: javascript:alert(1)',
    '[x]\n\n[x]:\njavascript:alert(1)',
    '> - [x]: <javascript:alert(1)>',
    'A paragraph.\n\n[a\\]b]: data:text/html,x',
    '> [x](\n> javascript:alert(1))',
    '- > > [x](\n  > > <javascript:alert(1)>)',
    '> [x]:\n> javascript:alert(1)\n\n[x]',
    '[a\\\nb]: javascript:alert(1)',
    `[${'a'.repeat(1_100)}]: javascript:alert(1)`,
  ];

  it.each(forbidden)('422 for a link to anything but http, https and mailto: %j', async (markdown) => {
    expect(toRefusal(await makePage(markdown))).toEqual([422, ['blocks[1].markdown forbidden_link']]);
    const { id } = (await makePage('Kept')).body;
    const changed = await org.api('patch', `/portal/pages/${id}`, {
      blocks: [text, { type: 'text', markdown }],
    });
    expect(toRefusal(changed)).toEqual([422, ['blocks[1].markdown forbidden_link']]);
  });

  it('is accepted otherwise', async () => {
    for (const markdown of [
      'Open [Mon–Fri]: 9:00–17:00, at 10:30 <a:b> & a < b: yes. See note: (javascript: is a word)',
      '[a](https://example.test/x?y=a:b "Title: yes") [b](HTTP://example.test) [c](mailto:billing@acme.example)',
      '[d](/invoices/1) [e](#top) [f](?page=2) [g](terms) [h]() ![i](https://example.test/i.png)',
      '<https://example.test/> <billing@acme.example> <mailto:billing@acme.example>',
      '[j]\n\n[j]: https://example.test/j\n[k]: /k "Title: k"',
      '# Heading\n\n- [ ] list\n\n| a | b |\n|---|---|\n| 1:2 | `c:d` |',
    ]) {
      expect([markdown, (await makePage(markdown)).status]).toEqual([markdown, 201]);
    }
  });

  it('with forbidden links from before they were refused is plain text for visitors, and cannot be published again', async () => {
    const { id } = (await makePage('Old')).body;
    await org.api('post', `/portal/pages/${id}/publish`, { revision: 1 });
    const markdown = 'See [*this*](javascript:alert(1)) & <data:text/html,x>\n\n[a]: javascript:b';
    const stored = JSON.stringify([text, { type: 'text', markdown }]);
    await org.sql((tx) =>
      tx('portal_pages').where({ id }).update({ blocks: stored, published_blocks: stored }),
    );
    const { status, body } = await org.api('get', `/portal/pages/${id}`);
    expect([status, body.blocks[1].markdown]).toEqual([200, markdown]);
    expect(body.published.blocks[0]).toEqual(text);
    const shown: string = body.published.blocks[1].markdown;
    expect(shown.replaceAll('\\', '')).toBe(markdown);
    const listTypes = (tokens: readonly Token[]): string[] =>
      tokens.flatMap((token) => [token.type, ...('tokens' in token ? listTypes(token.tokens ?? []) : [])]);
    expect([...new Set(listTypes(lexer(shown)))].sort()).toEqual(['escape', 'paragraph', 'space', 'text']);
    expect(formatDetails(body.problems)).toEqual(['blocks[1].markdown forbidden_link']);
    const again = await org.api('post', `/portal/pages/${id}/publish`, { revision: 1 });
    expect(toRefusal(again)).toEqual([422, ['blocks[1].markdown forbidden_link']]);
    expect((await org.api('patch', `/portal/pages/${id}`, { title: 'New' })).status).toBe(200);
  });
});
