// Reads the parts of a WebP file and writes it again: its picture and transparency, and nothing else that the file
// held. Moving pictures are refused.
import { assertDimensions, type Picture, UnreadableLogo } from './logo-picture.ts';

export const isWebp = (bytes: Buffer): boolean =>
  bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';

type Chunk = { readonly type: string; readonly data: Buffer };

/** What the file's own length covers; what follows is ignored. */
function listChunks(bytes: Buffer): Chunk[] {
  const end = bytes.length < 12 ? 0 : bytes.readUInt32LE(4) + 8;
  if (end < 12 || end > bytes.length) throw new UnreadableLogo('The WebP file is cut off');
  const chunks: Chunk[] = [];
  for (let at = 12; at + 8 <= end; ) {
    const length = bytes.readUInt32LE(at + 4);
    const next = at + 8 + length;
    if (next > end) throw new UnreadableLogo('The WebP file is cut off');
    chunks.push({ type: bytes.toString('latin1', at, at + 4), data: bytes.subarray(at + 8, next) });
    at = next + (length % 2);
  }
  return chunks;
}

function toChunk({ type, data }: Chunk): Buffer {
  const head = Buffer.alloc(8);
  head.write(type, 0, 'latin1');
  head.writeUInt32LE(data.length, 4);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

type Size = { readonly width: number; readonly height: number };

/** A key frame of VP8, by RFC 6386 section 9.1. */
function sizeOfLossy(data: Buffer): Size | undefined {
  if (data.length < 11 || data.readUIntBE(3, 3) !== 0x9d012a) return undefined;
  const tag = data.readUIntLE(0, 3);
  const [isKeyFrame, isShown, firstPart] = [(tag & 1) === 0, (tag & 16) !== 0, tag >> 5];
  if (!isKeyFrame || !isShown || 10 + firstPart > data.length) return undefined;
  return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
}

/** The header of lossless WebP: a signature, 14 bits each for width and height, and a version of 3 bits. */
function sizeOfLossless(data: Buffer): Size | undefined {
  if (data.length < 6 || data[0] !== 0x2f) return undefined;
  const bits = data.readUInt32LE(1);
  if (bits >>> 29 !== 0) return undefined;
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}

const alphaFlag = 0x10;

/** The head of a file with transparency beside its picture. */
function extendedHead({ width, height }: Size): Chunk {
  const data = Buffer.alloc(10);
  data[0] = alphaFlag;
  data.writeUIntLE(width - 1, 4, 3);
  data.writeUIntLE(height - 1, 7, 3);
  return { type: 'VP8X', data };
}

/** Throws UnreadableLogo for a file that is no still WebP picture, or a damaged one. */
export function rewriteWebp(bytes: Buffer): Picture {
  const chunks = listChunks(bytes);
  const of = (wanted: string): Chunk[] => chunks.filter(({ type }) => type === wanted);
  if (of('ANIM').length + of('ANMF').length > 0)
    throw new UnreadableLogo('The picture moves: choose a still one');
  const [picture, ...others] = [...of('VP8 '), ...of('VP8L')];
  const [alpha, ...alphas] = of('ALPH');
  const size =
    picture && (picture.type === 'VP8L' ? sizeOfLossless(picture.data) : sizeOfLossy(picture.data));
  if (picture === undefined || size === undefined || others.length + alphas.length > 0)
    throw new UnreadableLogo('The WebP file has no picture that can be read');
  assertDimensions(size.width, size.height);
  const isLossy = picture.type === 'VP8 ';
  const parts = isLossy && alpha !== undefined ? [extendedHead(size), alpha, picture] : [picture];
  const body = Buffer.concat([Buffer.from('WEBP', 'latin1'), ...parts.map(toChunk)]);
  const head = Buffer.from('RIFF\0\0\0\0', 'latin1');
  head.writeUInt32LE(body.length, 4);
  return { contentType: 'image/webp', bytes: Buffer.concat([head, body]), ...size };
}
