// Files of the company's branding. What an address holds never changes: a new revision has new addresses.
import type { Response } from 'express';
import { type Accent, accentColors } from '../core/contrast.ts';
import { readShownBranding, readShownLogo } from '../platform/index.ts';
import type { At } from './room.ts';
import { notFoundHere } from './visit.ts';

/** Throws 404 for what is no revision. */
function parseRevision({ req }: At): number {
  const text = String(req.params['revision']);
  if (!/^[1-9]\d{0,8}$/.test(text)) throw notFoundHere();
  return Number(text);
}

const setFileHeaders = (res: Response): void => {
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Cache-Control', 'public, max-age=31536000, immutable');
};

const tokens: Readonly<Record<string, keyof Accent>> = {
  '--accent': 'accent',
  '--accent-strong': 'strong',
  '--accent-surface': 'surface',
  '--on-accent': 'onAccent',
};

function toStyles(color: string): string {
  const { light, dark } = accentColors(color);
  const values = Object.entries(tokens).map(
    ([token, part]) => `${token}:light-dark(${light[part]},${dark[part]})`,
  );
  return `:root{${values.join(';')}}\n`;
}

/** Throws 404 for another revision than the current one, and without an accent. */
export async function sendBrandColors(at: At): Promise<void> {
  const revision = parseRevision(at);
  const branding = await readShownBranding(at.ctx);
  if (branding.revision !== revision || branding.accent === null) throw notFoundHere();
  setFileHeaders(at.res);
  at.res.type('css').send(toStyles(branding.accent));
}

/** Throws 404 for another revision than the current one, and without a logo. */
export async function sendLogo(at: At): Promise<void> {
  const found = await readShownLogo(at.ctx, parseRevision(at));
  if (found === undefined) throw notFoundHere();
  setFileHeaders(at.res);
  // Also opened as a page of its own, a logo runs and loads nothing.
  at.res.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'; sandbox");
  at.res.type(found.logo_type).send(found.logo);
}
