// The pages as text: what Vite built of web/portal, loaded with the first page. Pages are one person's: they are
// never stored, load nothing from elsewhere but pictures that the company named, and have no inline code.
import type { Response } from 'express';
import { inRoot } from '../core/root.ts';
import type { Renderer } from './renderer-model.ts';
import type { Frame, Page } from './view-model.ts';

const built = inRoot('web/portal/dist/render.js');

export type LoadRenderer = () => Promise<Renderer>;

/** One for each process. Rejects while web/portal is not built. */
export function createRendererLoader(): LoadRenderer {
  let loaded: Promise<Renderer> | undefined;
  return () => {
    loaded ??= (import(built) as Promise<{ readonly renderer: Renderer }>).then(({ renderer }) => renderer);
    return loaded;
  };
}

type PageOptions = {
  /** Origins of pictures besides its own. */
  readonly pictures?: readonly string[];
  /** A page of the console shows it in a frame. */
  readonly isFramed?: boolean;
};

export function setPageHeaders(res: Response, { pictures = [], isFramed = false }: PageOptions = {}): void {
  res.setHeader(
    'Content-Security-Policy',
    [
      "default-src 'none'",
      ...["script-src 'self'", "connect-src 'self'", "style-src 'self'", "font-src 'self'"],
      ["img-src 'self'", ...pictures].join(' '),
      ...["form-action 'self'", "base-uri 'none'", `frame-ancestors ${isFramed ? "'self'" : "'none'"}`],
    ].join('; '),
  );
  res.setHeader('X-Frame-Options', isFramed ? 'SAMEORIGIN' : 'DENY');
  // Without a referrer browsers would send forms with `Origin: null`.
  res.setHeader('Referrer-Policy', 'same-origin');
  res.setHeader('X-Robots-Tag', 'noindex');
  res.setHeader('Cache-Control', 'private, no-store');
}

export async function sendPage(
  res: Response,
  load: LoadRenderer,
  { page, frame }: { readonly page: Page; readonly frame: Frame },
  options: PageOptions = {},
): Promise<void> {
  const { renderPage } = await load();
  setPageHeaders(res, options);
  res.type('html').send(renderPage(page, frame));
}
