// Markdown of the company's pages as HTML. HTML in it is shown as text, and links lead to web pages, mail addresses
// and pages of the portal alone.
import { Marked, type Tokens } from 'marked';
import { escapeHtml } from '../core/text/escape-html.ts';

const isSafe = (address: string) => /^(?:https?:|mailto:)/i.test(address) || !/[:\\]|^\/\//.test(address);

export type SafeHtml = { readonly html: string; readonly pictures: readonly string[] };

/**
 * Of an answer of a model: nothing in it leads anywhere or loads anything, since texts in records could have made it say
 * so.
 */
export function toPlainHtml(markdown: string): string {
  const marked = new Marked({ async: false });
  marked.use({
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
      heading({ tokens }: Tokens.Heading) {
        return `<p><strong>${this.parser.parseInline(tokens)}</strong></p>`;
      },
      link({ tokens }: Tokens.Link) {
        return this.parser.parseInline(tokens);
      },
      image: ({ text }: Tokens.Image) => escapeHtml(text),
    },
  });
  return marked.parse(markdown) as string;
}

export function toSafeHtml(markdown: string): SafeHtml {
  const pictures: string[] = [];
  const marked = new Marked({ async: false });
  marked.use({
    renderer: {
      html: ({ text }: Tokens.HTML | Tokens.Tag) => escapeHtml(text),
      link({ href, tokens }: Tokens.Link) {
        const text = this.parser.parseInline(tokens);
        return isSafe(href) ? `<a href="${escapeHtml(href)}" rel="noopener noreferrer">${text}</a>` : text;
      },
      image({ href, text }: Tokens.Image) {
        if (!/^https:\/\//i.test(href) || !URL.canParse(href)) return escapeHtml(text);
        pictures.push(href);
        return `<img src="${escapeHtml(href)}" alt="${escapeHtml(text)}" loading="lazy" referrerpolicy="no-referrer">`;
      },
    },
  });
  return { html: marked.parse(markdown) as string, pictures };
}
