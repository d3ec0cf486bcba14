// Pages for one person, whose address is often a secret that grants access: no script, caching or indexing.
import type { Response } from 'express';
import { escapeHtml } from '../../core/text/escape-html.ts';

/** The addresses of what small pages load. */
export type SmallPageFiles = { readonly stylesheets: readonly string[]; readonly icon: string };

/** `title` is text; `header`, next to the name of the service, and `body` are HTML. */
type SmallPage = {
  readonly title: string;
  readonly header?: string;
  readonly body: string;
  readonly files: SmallPageFiles;
};

export const renderSmallPage = ({ title, header = '', body, files }: SmallPage): string => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="robots" content="noindex">
  <title>${escapeHtml(title)}</title>
  <link rel="icon" type="image/svg+xml" href="${files.icon}">
${files.stylesheets.map((address) => `  <link rel="stylesheet" href="${address}">`).join('\n')}
</head>
<body>
  <header><p class="product"><img src="${files.icon}" alt="" width="24" height="24">Portal Service</p>${header}</header>
  <main>
${body}
  </main>
</body>
</html>
`;

/**
 * For a page whose address or content is one person's: own styles and pictures alone, no caching, no indexing.
 * `formAction`: where its forms may lead; without a referrer browsers would send them with `Origin: null`.
 */
export function setPrivatePageHeaders(res: Response, formAction: string | null): void {
  res.setHeader(
    'Content-Security-Policy',
    `default-src 'none'; style-src 'self'; font-src 'self'; img-src 'self' data:; form-action ${formAction ?? "'none'"}; base-uri 'none'; frame-ancestors 'none'`,
  );
  res.setHeader('Referrer-Policy', formAction === null ? 'no-referrer' : 'same-origin');
  res.setHeader('X-Robots-Tag', 'noindex');
  res.setHeader('Cache-Control', 'no-store');
}
