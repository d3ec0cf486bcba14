// Addresses that organizations enter: only those that a browser opens, and never a script.

const opened = /^(?:https?:|mailto:|tel:)/i;
/** A scheme, also one with the characters that browsers leave out. */
const hasScheme = /^[a-z][a-z0-9+.-]*:/i;

/** The address, or undefined for other schemes than http, https, mailto and tel. */
export function safeAddress(address: string): string | undefined {
  const seen = address.replace(/[\u0000-\u0020]/g, '');
  return opened.test(seen) || !hasScheme.test(seen) ? address : undefined;
}

/** Prefix of the pages' addresses with the path of one: `/`, or `/portal/acme/profile`. */
export const pageAddress = (base: string, path = ''): string => `${base}/${path}`;
