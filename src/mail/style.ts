// What the parts of a mail share: how texts become HTML, and the fonts that every reader has.
const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? '');

export const font = "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Arial,sans-serif";
export const wrap = 'overflow-wrap:anywhere;word-break:break-word';
