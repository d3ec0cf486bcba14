// How the pixels of a PNG are arranged before they are compressed: in one pass, or interlaced in seven.

/** First column and row of each pass, and the steps to the next ones (PNG, section 8.2). */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

export type PngShape = {
  readonly width: number;
  readonly height: number;
  readonly bitsPerPixel: number;
  readonly isInterlaced: boolean;
};

/** Number of rows of each pass, and bytes of each row with that of its filter. */
export function listPasses({ width, height, bitsPerPixel, isInterlaced }: PngShape) {
  const passes = isInterlaced ? adam7 : ([[0, 0, 1, 1]] as const);
  return passes.flatMap(([left, top, across, down]) => {
    const columns = Math.ceil((width - left) / across);
    const rows = Math.ceil((height - top) / down);
    return columns > 0 && rows > 0 ? [{ rows, bytes: 1 + Math.ceil((columns * bitsPerPixel) / 8) }] : [];
  });
}
