// A logo as it was uploaded becomes one that this service wrote: a picture, and nothing else that the file held.
import { invalid } from '../../core/errors.ts';
import { type Picture, UnreadableLogo } from './logo-picture.ts';
import { isPng, rewritePng } from './logo-png.ts';
import { isWebp, rewriteWebp } from './logo-webp.ts';

export const maxLogoBytes = 262_144;

async function rewrite(bytes: Buffer): Promise<Picture> {
  if (bytes.length > maxLogoBytes)
    throw new UnreadableLogo(`The file has ${bytes.length} bytes; a logo may have ${maxLogoBytes}`);
  if (isPng(bytes)) return rewritePng(bytes);
  if (isWebp(bytes)) return rewriteWebp(bytes);
  if (!/^(?:\ufeff)?\s*</.test(bytes.toString('utf8', 0, 200)))
    throw new UnreadableLogo('The file is neither PNG nor WebP nor SVG');
  const { rewriteSvg } = await import('./logo-svg.ts');
  return rewriteSvg(bytes);
}

/** `text`: the file in base64. Throws 422 `unreadable_logo`, with the reason, for one that can't be a logo. */
export async function readLogo(text: string): Promise<Picture> {
  try {
    return await rewrite(Buffer.from(text, 'base64'));
  } catch (error) {
    if (!(error instanceof UnreadableLogo)) throw error;
    throw invalid('The logo can not be read', [
      { path: 'logo', code: 'unreadable_logo', message: error.message },
    ]);
  }
}
