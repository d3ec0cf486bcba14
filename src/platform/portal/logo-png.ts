// Reads a PNG file and writes it again: its picture, palette and transparency, and nothing else that the file held.

import { promisify } from 'node:util';
import { crc32, deflate, inflate } from 'node:zlib';
import { listPasses } from '../../core/png-passes.ts';
import { assertDimensions, type Picture, UnreadableLogo } from './logo-picture.ts';

const [pack, unpack] = [promisify(deflate), promisify(inflate)];
const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

export const isPng = (bytes: Buffer): boolean => bytes.subarray(0, 8).equals(signature);

type Chunk = { readonly type: string; readonly data: Buffer };

/** Up to the end of the picture; what follows it is ignored. */
function* listChunks(bytes: Buffer): Generator<Chunk> {
  for (let at = signature.length; at + 12 <= bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const end = at + 8 + length;
    if (end + 4 > bytes.length) break;
    if (crc32(bytes.subarray(at + 4, end)) !== bytes.readUInt32BE(end))
      throw new UnreadableLogo('A checksum of the PNG file is wrong');
    const type = bytes.toString('latin1', at + 4, at + 8);
    yield { type, data: bytes.subarray(at + 8, end) };
    if (type === 'IEND') return;
    at = end + 4;
  }
  throw new UnreadableLogo('The PNG file is cut off');
}

function toChunk({ type, data }: Chunk): Buffer {
  const chunk = Buffer.alloc(data.length + 12);
  chunk.writeUInt32BE(data.length);
  chunk.write(type, 4, 'latin1');
  data.copy(chunk, 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, data.length + 8)), data.length + 8);
  return chunk;
}

type Kind = { readonly samples: number; readonly depths: readonly number[] };
/** By colour type. */
const kinds: Readonly<Record<number, Kind>> = {
  0: { samples: 1, depths: [1, 2, 4, 8, 16] },
  2: { samples: 3, depths: [8, 16] },
  3: { samples: 1, depths: [1, 2, 4, 8] },
  4: { samples: 2, depths: [8, 16] },
  6: { samples: 4, depths: [8, 16] },
};
const [greyType, rgbType, paletteType] = [0, 2, 3];

type Header = {
  readonly width: number;
  readonly height: number;
  readonly colorType: number;
  readonly depth: number;
  readonly bitsPerPixel: number;
  readonly isInterlaced: boolean;
};

function readHeader({ type, data }: Chunk): Header {
  if (type !== 'IHDR' || data.length !== 13) throw new UnreadableLogo('The PNG file has no header');
  const [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
  const [depth = 0, colorType = 0, compression, filter, interlace] = data.subarray(8);
  const kind = kinds[colorType];
  if (kind?.depths.includes(depth) !== true || compression !== 0 || filter !== 0 || (interlace ?? 2) > 1)
    throw new UnreadableLogo('The header of the PNG file is not valid');
  assertDimensions(width, height);
  const bitsPerPixel = kind.samples * depth;
  return { width, height, colorType, depth, bitsPerPixel, isInterlaced: interlace === 1 };
}

/** Throws for pixels that are more or fewer than the header says, and for a filter that PNG doesn't have. */
async function unpackPixels(packed: Buffer, header: Header): Promise<Buffer> {
  const passes = listPasses(header);
  const size = passes.reduce((sum, { rows, bytes }) => sum + rows * bytes, 0);
  const pixels = await unpack(packed, { maxOutputLength: size }).catch(() => undefined);
  if (pixels?.length !== size) throw new UnreadableLogo('The pixels of the PNG file can not be read');
  let at = 0;
  for (const { rows, bytes } of passes)
    for (let row = 0; row < rows; row += 1, at += bytes)
      if ((pixels[at] ?? 5) > 4) throw new UnreadableLogo('The pixels of the PNG file can not be read');
  return pixels;
}

function isPalette({ colorType, depth }: Header, data: Buffer | undefined): boolean {
  if (data === undefined) return colorType !== paletteType;
  const entries = data.length / 3;
  const maxEntries = colorType === paletteType ? 2 ** depth : 256;
  return Number.isInteger(entries) && entries > 0 && entries <= maxEntries && (colorType & rgbType) !== 0;
}

function isTransparency({ colorType }: Header, data: Buffer | undefined, palette: Buffer | undefined) {
  if (data === undefined) return true;
  if (colorType === paletteType) return data.length > 0 && data.length <= (palette?.length ?? 0) / 3;
  return (colorType === greyType && data.length === 2) || (colorType === rgbType && data.length === 6);
}

const kept = new Set(['PLTE', 'tRNS', 'IDAT', 'IEND']);
const isCritical = (type: string): boolean => /^[A-Z]/.test(type);

/** Throws UnreadableLogo for a file that is no PNG picture, or a damaged one. */
export async function rewritePng(bytes: Buffer): Promise<Picture> {
  const [head, ...others] = listChunks(bytes);
  const header = readHeader(head ?? { type: '', data: bytes });
  const unknown = others.find(({ type }) => isCritical(type) && !kept.has(type));
  if (unknown !== undefined) throw new UnreadableLogo('The PNG file has a part that is not known');
  const of = (wanted: string) => others.flatMap(({ type, data }) => (type === wanted ? [data] : []));
  const [[palette, ...palettes], [transparency, ...transparencies]] = [of('PLTE'), of('tRNS')];
  const isWhole =
    isPalette(header, palette) && isTransparency(header, transparency, palette) && of('IDAT').length > 0;
  if (!isWhole || palettes.length + transparencies.length > 0)
    throw new UnreadableLogo('The parts of the PNG file do not fit together');
  const pixels = await unpackPixels(Buffer.concat(of('IDAT')), header);
  const written = [
    ...(head === undefined ? [] : [head]),
    ...(palette === undefined ? [] : [{ type: 'PLTE', data: palette }]),
    ...(transparency === undefined ? [] : [{ type: 'tRNS', data: transparency }]),
    { type: 'IDAT', data: await pack(pixels, { level: 9 }) },
    { type: 'IEND', data: Buffer.alloc(0) },
  ];
  const { width, height } = header;
  return {
    ...{ contentType: 'image/png', width, height },
    bytes: Buffer.concat([signature, ...written.map(toChunk)]),
  };
}
