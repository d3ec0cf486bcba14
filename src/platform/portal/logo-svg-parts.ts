// What a logo as SVG may consist of: everything else is left out. Values name no other file, only parts of the same one.

const words = (text: string): string[] => text.trim().split(/\s+/);

const shapes = new Set(words('path rect circle ellipse line polyline polygon text tspan use'));
const elements = new Set([
  ...shapes,
  ...words('svg g defs symbol title desc style linearGradient radialGradient stop clipPath mask pattern'),
]);
/** Elements whose text is kept. */
const texts = new Set(words('text tspan title desc'));

/** Attributes of presentation, which are properties of styles too. */
const properties = new Set(
  words(`fill fill-opacity fill-rule stroke stroke-width stroke-opacity stroke-linecap stroke-linejoin
    stroke-miterlimit stroke-dasharray stroke-dashoffset opacity color display visibility overflow clip-path
    clip-rule mask mask-type stop-color stop-opacity paint-order vector-effect transform transform-origin
    shape-rendering text-rendering isolation mix-blend-mode font-family font-size font-style font-weight
    font-variant letter-spacing word-spacing text-anchor text-decoration dominant-baseline baseline-shift
    alignment-baseline writing-mode white-space enable-background`),
);
const attributes = new Set(
  words(`id class version viewBox preserveAspectRatio width height x y x1 y1 x2 y2 cx cy r rx ry fx fy fr dx dy
    d points pathLength rotate textLength lengthAdjust offset gradientUnits gradientTransform spreadMethod
    clipPathUnits maskUnits maskContentUnits patternUnits patternContentUnits patternTransform`),
);
const functions = new Set(words('rgb rgba hsl hsla matrix translate scale rotate skewX skewY'));

export const isElement = (name: string): boolean => elements.has(name);
export const isShape = (name: string): boolean => shapes.has(name);
export const hasText = (name: string): boolean => texts.has(name);

const localReference = /url\(\s*(["']?)#([\w.-]+)\1\s*\)/g;

/** Numbers, names, colours and references to parts of the same file. */
function isValue(value: string): boolean {
  const rest = value.replaceAll(localReference, '');
  if (!/^[\w\s#.,%()+'"-]*$/.test(rest)) return false;
  return [...rest.matchAll(/([\w-]*)\s*\(/g)].every(([, name = '']) => functions.has(name));
}

/** The ids to which a value refers. */
export const listReferences = (value: string): string[] =>
  [...value.matchAll(localReference)].map(([, , id = '']) => id);

/** The declarations of a style that may be kept. */
export function keepDeclarations(style: string): string {
  const kept = style.split(';').flatMap((declaration) => {
    const colon = declaration.indexOf(':');
    const [name, value] = [declaration.slice(0, colon).trim(), declaration.slice(colon + 1).trim()];
    return colon > 0 && properties.has(name) && isValue(value) ? [`${name}:${value}`] : [];
  });
  return kept.join(';');
}

/** The rules of a style sheet that may be kept; undefined for one with conditions, or that can't be read. */
export function keepRules(sheet: string): string | undefined {
  const text = sheet.replaceAll(/\/\*[\s\S]*?\*\//g, '');
  const rule = /([^{}]*)\{([^{}]*)\}/g;
  if (text.includes('@') || text.replaceAll(rule, '').trim() !== '') return undefined;
  const kept = [...text.matchAll(rule)].flatMap(([, selector = '', style = '']) => {
    const declarations = keepDeclarations(style);
    return /^[\w\s.,#>*-]+$/.test(selector) && declarations !== ''
      ? [`${selector.trim()}{${declarations}}`]
      : [];
  });
  return kept.join('');
}

/** The attribute as it may be kept; undefined for one that is left out. */
export function keepAttribute(name: string, value: string): readonly [string, string] | undefined {
  if (name === 'href' || name === 'xlink:href') return /^#[\w.-]+$/.test(value) ? ['href', value] : undefined;
  if (name === 'style') {
    const style = keepDeclarations(value);
    return style === '' ? undefined : [name, style];
  }
  if (name === 'id') return /^[\w.-]+$/.test(value) ? [name, value] : undefined;
  return (attributes.has(name) || properties.has(name)) && isValue(value) ? [name, value] : undefined;
}
