// How the company wants its pages to look, as the pages name it.
import type { ShownBranding } from '../platform/index.ts';
import type { Site } from './sites.ts';
import type { Frame } from './view-model.ts';

/** A file never changes below the address of its revision. */
const brandAddress = ({ base }: Site, { revision }: ShownBranding): string => `${base}/brand/${revision}`;

export const toBrand = (site: Site, branding: ShownBranding): Frame['brand'] => ({
  name: branding.name ?? site.name,
  logo: branding.hasLogo ? `${brandAddress(site, branding)}/logo` : null,
  supportAddress: branding.supportAddress,
  legalLinks: branding.legalLinks,
});

/** Addresses of style sheets, to be loaded behind the others. */
export const brandFiles = (site: Site, branding: ShownBranding): string[] =>
  branding.accent === null ? [] : [`${brandAddress(site, branding)}.css`];
