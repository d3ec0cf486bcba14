// Reads an SVG file and writes it again from a list of what a logo may consist of. Scripts, events, other
// documents and addresses outside of the file are never written. Loaded with the first logo as SVG.
import { parseXml, XmlElement, XmlText } from '@rgrove/parse-xml';
import { escapeHtml } from '../../core/text/escape-html.ts';
import { type Picture, UnreadableLogo } from './logo-picture.ts';
import { hasText, isElement, isShape, keepAttribute, keepRules, listReferences } from './logo-svg-parts.ts';

const maxDepth = 64;
/** Elements that a browser draws, those that are referred to counted each time. */
const maxDrawn = 20_000;

type Part = {
  readonly name: string;
  readonly attributes: ReadonlyMap<string, string>;
  readonly children: readonly (Part | string)[];
};

const isPart = (child: Part | string): child is Part => typeof child !== 'string';
const listParts = ({ children }: Part): Part[] => children.filter(isPart);

function toPart({ name, attributes, children }: XmlElement, depth: number): Part {
  if (depth > maxDepth) throw new UnreadableLogo(`The SVG file has more than ${maxDepth} levels`);
  const kept = Object.entries(attributes).flatMap(([given, value]) => {
    const attribute = keepAttribute(given, value);
    return attribute === undefined ? [] : [attribute];
  });
  return {
    name,
    attributes: new Map(kept),
    children:
      name === 'style'
        ? [readRules(children)]
        : children.flatMap((child): (Part | string)[] => {
            if (child instanceof XmlElement) return isElement(child.name) ? [toPart(child, depth + 1)] : [];
            return child instanceof XmlText && hasText(name) ? [child.text] : [];
          }),
  };
}

function readRules(children: XmlElement['children']): string {
  const text = children.map((child) => (child instanceof XmlText ? child.text : '')).join('');
  const rules = keepRules(text);
  if (rules === undefined)
    throw new UnreadableLogo('The style sheet of the SVG file has rules that a logo can not have');
  return rules;
}

const listAll = (part: Part): Part[] => [part, ...listParts(part).flatMap(listAll)];

/** The ids to which style sheets refer, by class; by an empty text where a rule selects something else. */
function readStyledReferences(all: readonly Part[]): ReadonlyMap<string, readonly string[]> {
  const byClass = new Map<string, string[]>();
  const sheets = all.flatMap(({ name, children }) => (name === 'style' ? [children.join('')] : []));
  for (const [, selectors = '', style = ''] of sheets.join('').matchAll(/([^{}]*)\{([^{}]*)\}/g)) {
    const ids = listReferences(style);
    if (ids.length === 0) continue;
    for (const selector of selectors.split(',')) {
      const [, name = ''] = /\.([\w-]+)[^.]*$/.exec(selector) ?? [];
      byClass.set(name, [...(byClass.get(name) ?? []), ...ids]);
    }
  }
  return byClass;
}

/** Parts that refer to others can make a small file endless work for browsers. */
function assertDrawable(root: Part): void {
  const all = listAll(root);
  // Of several parts with one id, browsers take the first.
  const byId = new Map(all.toReversed().map((part) => [part.attributes.get('id') ?? 'without id', part]));
  const styled = readStyledReferences(all);
  const listTargets = ({ attributes }: Part): Part[] => {
    const classes = ['', ...(attributes.get('class') ?? '').split(/\s+/)];
    const ids = [
      ...[...attributes.values()].flatMap(listReferences),
      ...classes.flatMap((name) => styled.get(name) ?? []),
      attributes.get('href')?.slice(1) ?? '',
    ];
    return ids.flatMap((id) => byId.get(id) ?? []);
  };
  const drawn = new Map<Part, number>();
  const count = (part: Part): number => {
    const known = drawn.get(part);
    if (known !== undefined) return known;
    // A circle is as much as is never drawn.
    drawn.set(part, maxDrawn);
    const sum = [...listParts(part), ...listTargets(part)].reduce((total, other) => total + count(other), 1);
    drawn.set(part, sum);
    return sum;
  };
  if (count(root) >= maxDrawn) throw new UnreadableLogo('The SVG file draws too much');
}

const namespace = 'http://www.w3.org/2000/svg';

function toText(child: Part | string, isRoot = false): string {
  if (!isPart(child)) return escapeHtml(child);
  const { name, attributes, children } = child;
  const written = [...(isRoot ? [['xmlns', namespace] as const] : []), ...attributes].map(
    ([attribute, value]) => ` ${attribute}="${escapeHtml(value)}"`,
  );
  const inner = children.map((each) => toText(each)).join('');
  return inner === '' ? `<${name}${written.join('')}/>` : `<${name}${written.join('')}>${inner}</${name}>`;
}

const toPixels = (text: string | undefined): number | null => {
  const [, digits] = /^\s*(\d{1,5}(?:\.\d{1,9})?)(?:px)?\s*$/.exec(text ?? '') ?? [];
  const pixels = Math.round(Number(digits ?? 0));
  return pixels > 0 ? pixels : null;
};

function sizeOf({ attributes }: Part): Pick<Picture, 'width' | 'height'> {
  const [width, height] = [toPixels(attributes.get('width')), toPixels(attributes.get('height'))];
  if (width !== null && height !== null) return { width, height };
  const [, , across, down] = (attributes.get('viewBox') ?? '').trim().split(/[\s,]+/);
  const box = { width: toPixels(across), height: toPixels(down) };
  return box.width === null || box.height === null ? { width: null, height: null } : box;
}

function readRoot(bytes: Buffer): XmlElement {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const { root } = parseXml(text);
    if (root?.name === 'svg') return root;
  } catch (error) {
    throw new UnreadableLogo('The file is no well-formed SVG file in UTF-8', { cause: error });
  }
  throw new UnreadableLogo('The root of the file is not svg');
}

/** Throws UnreadableLogo for a file that is no SVG picture, that draws nothing, or too much. */
export function rewriteSvg(bytes: Buffer): Picture {
  const root = toPart(readRoot(bytes), 1);
  if (!listAll(root).some(({ name }) => isShape(name)))
    throw new UnreadableLogo('The SVG file draws nothing');
  assertDrawable(root);
  return { contentType: 'image/svg+xml', bytes: Buffer.from(toText(root, true)), ...sizeOf(root) };
}
