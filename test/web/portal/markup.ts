// Reads HTML that is written as strictly as the portal writes its pages: every `<` begins a tag, every attribute
// has quotes or no value.

export type Element = { readonly name: string; readonly attributes: ReadonlyMap<string, string> };
export type Markup = { readonly elements: readonly Element[]; readonly texts: readonly string[] };

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', amp: '&' };
const decode = (text: string): string =>
  text.replaceAll(/&(?:#(\d+)|(\w+));/g, (whole, code, name) =>
    code === undefined ? (entities[name] ?? whole) : String.fromCodePoint(Number(code)),
  );

/** Throws when anything else than tags, texts and one doctype is there. */
export function readMarkup(html: string): Markup {
  const elements: Element[] = [];
  const texts: string[] = [];
  const tag = /<(\/?)([a-z][a-z0-9]*)((?:\s+[A-Za-z][\w:-]*(?:="[^"<]*")?)*)\s*\/?>/y;
  let at = html.indexOf('\n');
  while (at < html.length) {
    const end = html.indexOf('<', at);
    texts.push(decode(html.slice(at, end === -1 ? html.length : end)));
    if (end === -1) break;
    tag.lastIndex = end;
    const [whole, closing, name = '', rest = ''] = tag.exec(html) ?? [];
    if (whole === undefined) throw new Error(`No tag: ${html.slice(end, end + 200)}`);
    if (closing === '') {
      const found = rest.matchAll(/([A-Za-z][\w:-]*)(?:="([^"]*)")?/g);
      const attributes = new Map([...found].map(([, key = '', value = '']) => [key, decode(value)]));
      elements.push({ name, attributes });
    }
    at = tag.lastIndex;
  }
  return { elements, texts };
}
