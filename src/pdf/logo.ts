// Draws a company's logo, or finds out that it can't be drawn: what fails in a document that is thrown away
// never reaches the real one.
import PdfKit from 'pdfkit';
import drawSvg from 'svg-to-pdfkit';
import type { PdfLogo } from './document.ts';
import { logoBox } from './layout.ts';
import { isDecodable } from './png.ts';

type Draw = (document: PDFKit.PDFDocument) => void;

/** `openImage` is documented, but not in the types. */
type Trial = PDFKit.PDFDocument & { openImage(file: Buffer): unknown };
const openTrial = (): Trial => new PdfKit({ size: 'A4', margin: 0 }) as Trial;
const refuse = (what: string): never => {
  throw new Error(what);
};

/** Throws for a file that can't be drawn. */
function preparePng(bytes: Uint8Array): Draw {
  if (!isDecodable(bytes)) refuse('pixels');
  const file = Buffer.from(bytes);
  openTrial().openImage(file);
  const { x, y, width, height } = logoBox;
  return (document) => document.image(file, x, y, { fit: [width, height], valign: 'center' });
}

/** Text would need the company's fonts; the others reach beyond the picture. */
const undrawable = /<\s*(?:[\w.-]+:)?(?:a|image|foreignObject|script|text|animate\w*|set)[\s/>]/i;
/** Operators in the content of a page; those of a logo are some hundreds. */
const maxOperators = 50_000;
const paints = /^(?:[fFBb]\*?|[Ss])$/;

/** Throws for a file that draws nothing, too much, or what isn't supported. */
function prepareSvg(bytes: Uint8Array): Draw {
  const text = Buffer.from(bytes).toString('utf8');
  if (undrawable.test(text)) refuse('elements');
  const draw: Draw = (document) =>
    drawSvg(document, text, logoBox.x, logoBox.y, {
      width: logoBox.width,
      height: logoBox.height,
      assumePt: true,
      preserveAspectRatio: 'xMinYMid meet',
      warningCallback: refuse,
      fontCallback: () => refuse('text'),
      imageCallback: () => refuse('image'),
      documentCallback: () => refuse('document'),
    });
  const trial = openTrial();
  const write = trial.addContent.bind(trial);
  let operators = 0;
  let hasPainted = false;
  trial.addContent = (content) => {
    operators += 1;
    hasPainted ||= paints.test(content);
    return operators > maxOperators ? refuse('too much') : write(content);
  };
  draw(trial);
  if (!hasPainted) refuse('nothing');
  return draw;
}

/** PDF has no WebP, and nothing here decodes its pixels. */
const prepare = {
  'image/png': preparePng,
  'image/svg+xml': prepareSvg,
  'image/webp': () => undefined,
};

/** Draws the logo at the top left of a page; undefined where there is none that can be drawn. */
export function prepareLogo(logo: PdfLogo | null): Draw | undefined {
  try {
    return logo === null ? undefined : prepare[logo.type](logo.bytes);
  } catch {
    return undefined;
  }
}
