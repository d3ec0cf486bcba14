// The pages of docs/ as HTML, with the sections that a search finds. Links between pages lead to the site,
// those to other files of the repository are shown as text.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Marked, Renderer, type Token } from 'marked';
import { inRoot } from '../../core/root.ts';
import { escapeHtml } from '../../core/text/escape-html.ts';
import { platformBase } from '../served.ts';

export const docsBase = '/docs';
const folder = inRoot('docs/');

/** The text below a heading. `anchor` is empty for the title of the page. */
type Section = {
  readonly title: string;
  readonly anchor: string;
  readonly depth: number;
  readonly html: string;
};
export type DocsPage = { readonly title: string; readonly sections: readonly Section[] };
export type Docs = {
  /** By their address below /docs, such as `backup`; that of the start is empty. */
  readonly pages: ReadonlyMap<string, DocsPage>;
  /** Pictures and programs, by their address. */
  readonly files: ReadonlyMap<string, { readonly contentType: string; readonly content: Buffer }>;
};

const contentTypes: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.py': 'text/plain; charset=utf-8',
  '.ts': 'text/plain; charset=utf-8',
};

/** `decisions/README.md` → `decisions`. */
const toAddress = (file: string): string => file.replace(/(^|\/)README\.md$|\.md$/, '');

/** The address of a link in a page; undefined for one to a file that the site doesn't have. */
function resolveLink(href: string, file: string): string | undefined {
  if (/^(?:[a-z]+:|#)/.test(href)) return href;
  const [target = '', anchor] = href.split('#');
  const found = path.posix.join(path.posix.dirname(file), target);
  if (found === 'openapi.json') return `${platformBase}/openapi`;
  if (found.startsWith('..')) return undefined;
  return [[docsBase, toAddress(found)].filter(Boolean).join('/'), anchor].filter(Boolean).join('#');
}

/** Scrolls sideways by itself, also by keyboard. */
const scrolling = (html: string): string => `<div class="scroll" tabindex="0">${html}</div>\n`;

const createMarkdown = (file: string): Marked =>
  new Marked({
    renderer: {
      link({ href, tokens }) {
        const [address, content] = [resolveLink(href, file), this.parser.parseInline(tokens)];
        return address === undefined ? content : `<a href="${escapeHtml(address)}">${content}</a>`;
      },
      image: ({ href, text }) =>
        `<img src="${escapeHtml(resolveLink(href, file) ?? '')}" alt="${escapeHtml(text)}" loading="lazy">`,
      table(token) {
        const html = Renderer.prototype.table.call(this, token);
        return scrolling(html.replaceAll('<th></th>', '<td></td>'));
      },
      code(token) {
        return scrolling(Renderer.prototype.code.call(this, token));
      },
    },
  });

const toText = (tokens: readonly Token[]): string =>
  tokens
    .map((token) =>
      'tokens' in token && token.tokens ? toText(token.tokens) : 'text' in token ? token.text : '',
    )
    .join('');

/** As GitHub names the headings of a page. */
function createAnchors(): (title: string) => string {
  const used = new Map<string, number>();
  return (title) => {
    const anchor = title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
      .replaceAll(' ', '-');
    const times = used.get(anchor) ?? 0;
    used.set(anchor, times + 1);
    return times === 0 ? anchor : `${anchor}-${times}`;
  };
}

function readPage(file: string): DocsPage {
  const [markdown, toAnchor] = [createMarkdown(file), createAnchors()];
  const sections: Section[] = [];
  let open: Token[] = [];
  const close = (): void => {
    const [heading] = open;
    if (heading?.type !== 'heading') return;
    const [title, depth] = [toText(heading.tokens ?? []), Number(heading['depth'])];
    const anchor = depth === 1 ? '' : toAnchor(title);
    const html = markdown.parser(open);
    sections.push({
      title,
      anchor,
      depth,
      html: anchor === '' ? html : html.replace('>', ` id="${anchor}">`),
    });
  };
  for (const token of markdown.lexer(readFileSync(path.join(folder, file), 'utf8'))) {
    if (token.type === 'heading') {
      close();
      open = [];
    }
    open.push(token);
  }
  close();
  return { title: sections[0]?.title ?? file, sections };
}

/**
 * Reads every page, picture and program below docs/, and lets other requests be served in between. Rejects when
 * a file can't be read.
 */
export async function readDocs(): Promise<Docs> {
  const pages = new Map<string, DocsPage>();
  const files = new Map<string, { contentType: string; content: Buffer }>();
  for (const found of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const name = found.split(path.sep).join('/');
    const contentType = contentTypes[path.extname(name)];
    if (name.endsWith('.md')) pages.set(toAddress(name), readPage(name));
    else if (contentType !== undefined)
      files.set(name, { contentType, content: readFileSync(path.join(folder, name)) });
    await setImmediate();
  }
  return { pages, files };
}
