// Pages rendered for one person, whose address is often a secret that grants access: no script, no caching,
// no indexing.
import type { Response } from 'express';
import { escapeHtml } from '../../core/escape-html.ts';

/** `title` is text; `header` and `body` are HTML. */
type SmallPage = {
  readonly title: string;
  readonly header: string;
  readonly body: string;
  readonly stylesheets: readonly string[];
};

export const renderSmallPage = ({ title, header, body, stylesheets }: SmallPage): string => `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  <meta name="robots" content="noindex">
  <title>${escapeHtml(title)}</title>
  <link rel="icon" href="data:,">
${stylesheets.map((address) => `  <link rel="stylesheet" href="${address}">`).join('\n')}
</head>
<body>
  <header>${header}</header>
  <main>
${body}
  </main>
</body>
</html>
`;

export function setPrivatePageHeaders(
  res: Response,
  contentPolicy: string,
  referrerPolicy: 'no-referrer' | 'same-origin',
): void {
  res.setHeader('Content-Security-Policy', contentPolicy);
  res.setHeader('Referrer-Policy', referrerPolicy);
  res.setHeader('X-Robots-Tag', 'noindex');
  res.setHeader('Cache-Control', 'no-store');
}
