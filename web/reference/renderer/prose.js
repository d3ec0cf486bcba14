// Renders Markdown as elements. marked parses the structure and this file creates the elements, so no HTML of
// a description is ever interpreted: it is shown as text, images as their alternative text, and only links to
// web and mail addresses are links.
import { lexer } from '../marked.esm.js';
import { make } from './dom.js';

const isSafeLink = (href) => /^(https?:\/\/|mailto:)/i.test(href);

const inlineElements = {
  strong: (token) => make('strong', {}, inline(token)),
  em: (token) => make('em', {}, inline(token)),
  del: (token) => make('del', {}, inline(token)),
  codespan: ({ text }) => make('code', {}, text),
  escape: ({ text }) => text,
  br: () => make('br'),
  image: ({ text }) => text,
  link: (token) =>
    isSafeLink(token.href)
      ? make('a', { href: token.href, rel: 'noreferrer noopener' }, inline(token))
      : inline(token),
};

function inline({ tokens, text = '', raw = text }) {
  if (tokens === undefined) return [raw];
  return tokens.flatMap((token) => inlineElements[token.type]?.(token) ?? inline(token));
}

const cells = (row, tag) =>
  make(
    'tr',
    {},
    row.map((cell) => make(tag, {}, inline(cell))),
  );

const blockElements = {
  space: () => [],
  def: () => [],
  hr: () => make('hr'),
  heading: (token, level) => make(`h${Math.min(6, level + token.depth - 1)}`, {}, inline(token)),
  paragraph: (token) => make('p', {}, inline(token)),
  code: ({ text }) => make('pre', { tabindex: 0 }, make('code', {}, text)),
  blockquote: ({ tokens }, level) => make('blockquote', {}, blocks(tokens, level)),
  list: ({ ordered, items }, level) =>
    make(
      ordered ? 'ol' : 'ul',
      {},
      items.map((item) => make('li', {}, blocks(item.tokens, level))),
    ),
  table: ({ header, rows }) =>
    make(
      'div',
      { class: 'scroll', tabindex: 0 },
      make(
        'table',
        {},
        make('thead', {}, cells(header, 'th')),
        make(
          'tbody',
          {},
          rows.map((row) => cells(row, 'td')),
        ),
      ),
    ),
  html: ({ raw }) => make('p', {}, raw),
};

const blocks = (tokens, level) =>
  tokens.flatMap((token) => blockElements[token.type]?.(token, level) ?? inline(token));

/** Block elements of a Markdown text; its first-level headings become headings of `level`. */
export const prose = (markdown, level = 3) => make('div', { class: 'prose' }, blocks(lexer(markdown), level));

/** The inline elements of a single paragraph, without the paragraph itself. */
export const phrase = (markdown) => {
  const tokens = lexer(markdown);
  return tokens.length === 1 && tokens[0].type === 'paragraph' ? inline(tokens[0]) : [prose(markdown)];
};

/** Splits a text at its headings. The part before the first heading has an empty title. */
export function splitSections(markdown) {
  const sections = [{ title: '', tokens: [] }];
  for (const token of lexer(markdown)) {
    if (token.type === 'heading' && token.depth <= 2) sections.push({ title: token.text, tokens: [] });
    else sections.at(-1).tokens.push(token);
  }
  return sections
    .filter(({ title, tokens }) => title !== '' || tokens.some(({ type }) => type !== 'space'))
    .map(({ title, tokens }) => ({ title, text: tokens.map(({ raw }) => raw).join('') }));
}
