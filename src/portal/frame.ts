// What surrounds the pages: company, visitor, navigation, and the language, chosen or of the browser.
import type { Request } from 'express';
import { languages } from '../core/text/portal-terms.ts';
import { listCookieValues } from '../http/cookies.ts';
import type { ShownBranding } from '../platform/index.ts';
import { brandFiles, toBrand } from './brand.ts';
import type { Site } from './sites.ts';
import type { Customer, Frame, Language, NavigationItem } from './view-model.ts';
import type { SignedIn } from './visit.ts';

export type Files = Frame['files'];
export const languageCookie = 'portal_language';

export const isLanguage = (text: string): text is Language => (languages as readonly string[]).includes(text);

type Offer = { readonly languages: readonly Language[]; readonly defaultLanguage: Language };
export const everyLanguage: Offer = { languages, defaultLanguage: 'en' };

export function chooseLanguage(req: Request, offer: Offer): Language {
  const chosen = listCookieValues(req, languageCookie).find(isLanguage);
  if (chosen !== undefined && offer.languages.includes(chosen)) return chosen;
  const preferred = req.acceptsLanguages([...offer.languages]);
  const isAsked = req.headers['accept-language'] !== undefined && preferred !== false;
  return isAsked && isLanguage(preferred) ? preferred : offer.defaultLanguage;
}

type Around = {
  readonly site: Site;
  readonly req: Request;
  readonly files: Files;
  readonly offer: Offer;
  readonly branding: ShownBranding;
};

/** Of a page before sign-in, and of one without records. */
export function plainFrame({ site, req, files, offer, branding }: Around): Frame {
  return {
    language: chooseLanguage(req, offer),
    languages: offer.languages,
    base: site.base,
    here: req.originalUrl,
    files: { ...files, stylesheets: [...files.stylesheets, ...brandFiles(site, branding)] },
    brand: toBrand(site, branding),
    visitor: null,
    navigation: [],
    timeZone: 'UTC',
  };
}

const viewAsUntil = ({ session }: SignedIn) => (session.viewer_id === null ? null : session.ends_at);

export function visitorFrame(
  around: Around,
  visit: SignedIn,
  named: readonly Customer[],
  navigation: readonly NavigationItem[],
): Frame {
  const { session, customer: chosen } = visit;
  const customer = named.find(({ id }) => id === chosen) ?? null;
  return {
    ...plainFrame(around),
    visitor: {
      // A member may see the portal as any visitor of a customer.
      email: session.email || (customer?.name ?? ''),
      customer,
      customers: named,
      viewAsUntil: viewAsUntil(visit),
    },
    navigation,
  };
}
