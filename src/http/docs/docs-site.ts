// The documentation at /docs: the pages of docs/ in one frame, and a search over their sections. All of
// it is read once, and the same for everyone.
import { Router } from 'express';
import { AppError } from '../../core/errors.ts';
import { escapeHtml } from '../../core/text/escape-html.ts';
import type { PageAssets } from '../pages/page-assets.ts';
import { setPolicy } from '../pages/static-page.ts';
import { type Docs, type DocsPage, docsBase, readDocs } from './read-docs.ts';
import { createDocsSearch, type Found } from './search-docs.ts';

const maxWordsLength = 200;

type Frame = {
  readonly assets: string;
  readonly title: string;
  readonly words?: string;
  readonly main: string;
  /** What is on the page, and all pages. */
  readonly aside: string;
};

const renderFrame = ({ assets, title, words = '', main, aside }: Frame): string => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <title>${escapeHtml(title)} · Portal Service</title>
  <link rel="icon" type="image/svg+xml" href="${assets}/shared/icon.svg">
  <link rel="stylesheet" href="${assets}/shared/tokens.css">
  <link rel="stylesheet" href="${assets}/docs/docs.css">
  <script src="${assets}/shared/theme.js"></script>
</head>
<body>
  <header class="bar">
    <a class="product" href="/"><img src="${assets}/shared/icon.svg" alt="" width="24" height="24">Portal Service</a>
    <a href="${docsBase}">Documentation</a>
    <search><form action="${docsBase}/search">
      <input type="search" name="q" value="${escapeHtml(words)}" maxlength="${maxWordsLength}" required aria-label="Search the documentation" placeholder="Search">
    </form></search>
    <label><span class="unseen">Theme</span><select id="theme">
      <option value="system">System theme</option>
      <option value="light">Light</option>
      <option value="dark">Dark</option>
    </select></label>
  </header>
  <div class="columns">
    <main>
${main}
    </main>
    ${aside}
  </div>
</body>
</html>
`;

const link = (address: string, text: string, isCurrent = false): string =>
  `<li><a href="${escapeHtml(address)}"${isCurrent ? ' aria-current="page"' : ''}>${escapeHtml(text)}</a></li>`;

/** The pages in the order of the start page, whose lists name them. */
function renderNavigation({ pages }: Docs, current: string): string {
  const groups = (pages.get('')?.sections ?? []).filter(({ depth }) => depth === 2);
  const lists = groups.map(({ title, html }) => {
    const links = [...html.matchAll(/<li><a href="\/docs\/([^"]+)">([^<]*)<\/a>/g)];
    return `<p>${escapeHtml(title)}</p><ul>${links.map(([, at = '', name = '']) => link(`${docsBase}/${at}`, name, at === current)).join('')}</ul>`;
  });
  return `<nav class="pages" aria-label="Documentation">${lists.join('')}</nav>`;
}

function renderContents({ sections }: DocsPage): string {
  const parts = sections.filter(({ depth }) => depth === 2);
  if (parts.length < 2) return '';
  const links = parts.map(({ anchor, title }) => link(`#${anchor}`, title));
  return `<nav class="contents" aria-label="On this page"><p>On this page</p><ul>${links.join('')}</ul></nav>`;
}

const snippetLength = 220;
const renderFound = (words: string, found: readonly Found[]): string =>
  `<h1>${found.length === 0 ? 'Nothing found' : 'Search'}</h1>
<p>${found.length === 0 ? 'No section has these words: try fewer, or others.' : `Sections with “${escapeHtml(words)}”, the best first:`}</p>
<ol class="found">${found
    .map(
      ({ address, page, title, text }) =>
        `<li><a href="${docsBase}/${address}">${escapeHtml(page === title ? title : `${page}: ${title}`)}</a><p>${text.slice(0, snippetLength).replace(/&[^;\s]*$/, '')}…</p></li>`,
    )
    .join('\n')}</ol>`;

/** Mount it at /docs. Rejects when a file can't be read. */
export async function createDocsSite({ address: assets }: PageAssets): Promise<Router> {
  const docs = await readDocs();
  const search = await createDocsSearch(docs);
  const router = Router();
  router.get(['/search', '/search.json'], (req, res) => {
    const words = typeof req.query['q'] === 'string' ? req.query['q'].trim() : '';
    if (words.length > maxWordsLength)
      throw new AppError('BAD_REQUEST', `The search is longer than ${maxWordsLength} characters`);
    const found = words === '' ? [] : search(words);
    if (req.path.endsWith('.json'))
      return res.json({
        data: found.map(({ address, page, title }) => ({ address: `${docsBase}/${address}`, page, title })),
      });
    setPolicy(res, 'no-cache', { sendsForms: true });
    const main = renderFound(words, found);
    res
      .type('html')
      .send(renderFrame({ assets, title: 'Search', words, main, aside: renderNavigation(docs, '') }));
  });
  router.get('/{*page}', (req, res, next) => {
    const address = req.path.slice(1);
    const page = docs.pages.get(address);
    const file = docs.files.get(address);
    if (page === undefined && file === undefined) return next();
    setPolicy(res, 'no-cache', { sendsForms: true });
    if (page === undefined) {
      res.type(file?.contentType ?? '').send(file?.content);
      return;
    }
    const main = page.sections.map(({ html }) => html).join('');
    // The start lists all pages itself.
    const aside = address === '' ? '' : renderContents(page) + renderNavigation(docs, address);
    res.type('html').send(renderFrame({ assets, title: page.title, main, aside }));
  });
  return router;
}
