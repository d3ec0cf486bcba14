// A picture that was read and written again.

export type Picture = {
  readonly contentType: 'image/png' | 'image/webp' | 'image/svg+xml';
  readonly bytes: Buffer;
  /** In pixels; null where the picture has no size of its own. */
  readonly width: number | null;
  readonly height: number | null;
};

/** Why a file is no logo: a sentence for the person who chose it. */
export class UnreadableLogo extends Error {}

const maxSide = 4_096;
const maxPixels = 4_194_304;

/** Throws UnreadableLogo for a picture that is empty, or too large for every browser that opens the portal. */
export function assertDimensions(width: number, height: number): void {
  if (width < 1 || height < 1) throw new UnreadableLogo('The picture is empty');
  if (width > maxSide || height > maxSide || width * height > maxPixels)
    throw new UnreadableLogo(
      `The picture has ${width} × ${height} pixels; each side may have ${maxSide}, and both together ${maxPixels}`,
    );
}
