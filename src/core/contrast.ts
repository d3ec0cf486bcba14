// Contrast of colours as WCAG 2.2 measures it, and the shades of a colour that can be read. Colours are `#rrggbb`.

export const white = '#ffffff';
const black = '#000000';
/** Of text with its background, by WCAG 1.4.3. */
export const minTextContrast = 4.5;

const channels = (color: string) => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

const linear = (channel: number): number => {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
};

function luminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = channels(color).map(linear);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** From 1 to 21. */
export function contrastOf(one: string, other: string): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (lighter + 0.05) / (darker + 0.05);
}

/** `share` of the second colour, from 0 to 1. */
export function mixColors(one: string, other: string, share: number): string {
  const others = channels(other);
  const mixed = channels(one).map((channel, at) =>
    Math.round(channel + ((others[at] ?? 0) - channel) * share),
  );
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

const steps = 512;

/** The first shade on the way from a colour to another one that has this contrast with the background. */
function findShade(color: string, towards: string, background: string): string {
  for (let step = 0; step < steps; step += 1) {
    const shade = mixColors(color, towards, step / steps);
    if (contrastOf(shade, background) >= minTextContrast) return shade;
  }
  return towards;
}

/** The colour itself where text of it can be read on white, else the nearest darker shade. */
export const darkenForWhite = (color: string): string => findShade(color, black, white);

/** The lightest and the darkest backgrounds of pages, other than white: those of web/shared/tokens.css. */
const greySurface = '#f1f3f7';
const [darkSurface, raisedDarkSurface] = ['#161b22', '#212932'];
const onDarkAccent = '#0b1017';

export type Accent = {
  readonly accent: string;
  readonly strong: string;
  readonly surface: string;
  readonly onAccent: string;
};

/** Tints a background with the accent, less where text of the accent could not be read on it. */
function tint(background: string, accent: string, share: number): string {
  for (let rest = share; rest > 0; rest -= 0.01) {
    const tinted = mixColors(background, accent, rest);
    if (contrastOf(tinted, accent) >= minTextContrast) return tinted;
  }
  return background;
}

/** The colours of pages with this accent, which has the contrast of text with white. */
export function accentColors(color: string): { readonly light: Accent; readonly dark: Accent } {
  const light = findShade(color, black, greySurface);
  const dark = findShade(color, white, raisedDarkSurface);
  return {
    light: {
      accent: light,
      strong: mixColors(light, black, 0.2),
      surface: tint(white, light, 0.1),
      onAccent: white,
    },
    dark: {
      accent: dark,
      strong: mixColors(dark, white, 0.3),
      surface: tint(darkSurface, dark, 0.15),
      onAccent: onDarkAccent,
    },
  };
}
