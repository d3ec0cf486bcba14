// Files that people upload as a logo, among them hostile ones, and how their parts are read back.
import { crc32, deflateSync, inflateSync } from 'node:zlib';

export const toBase64 = (file: Buffer | string): string => Buffer.from(file).toString('base64');

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
export type Chunk = readonly [type: string, data: Buffer];

function toChunk([type, data]: Chunk): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

export const toPng = (...chunks: readonly Chunk[]): Buffer =>
  Buffer.concat([signature, ...chunks.map(toChunk)]);

export function listChunks(png: Buffer): Chunk[] {
  const chunks: Chunk[] = [];
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at);
    chunks.push([png.toString('latin1', at + 4, at + 8), png.subarray(at + 8, at + 8 + length)]);
    at += length + 12;
  }
  return chunks;
}

type Header = { width?: number; height?: number; depth?: number; colorType?: number; interlace?: number };
export function header({
  width = 2,
  height = 3,
  depth = 8,
  colorType = 6,
  interlace = 0,
}: Header = {}): Chunk {
  const data = Buffer.alloc(13);
  data.writeUInt32BE(width);
  data.writeUInt32BE(height, 4);
  data.set([depth, colorType, 0, 0, interlace], 8);
  return ['IHDR', data];
}

/** Three rows of two pixels with red, green, blue and opacity. */
export const rows = Buffer.from([0, 1, 2].flatMap((row) => [0, ...Array(8).fill(row * 50 + 7)]));
export const pixels = (raw: Buffer = rows): Chunk => ['IDAT', deflateSync(raw)];
export const end: Chunk = ['IEND', Buffer.alloc(0)];
export const text = (word: string): Chunk => ['tEXt', Buffer.from(`Comment\0${word}`)];

export const png = toPng(header(), pixels(), end);
/** The rows of pixels, as they were before compression. */
export const readPixels = (file: Buffer): Buffer =>
  inflateSync(Buffer.concat(listChunks(file).flatMap(([type, data]) => (type === 'IDAT' ? [data] : []))));

/** One pixel each, as browsers' tests of their support use them. */
export const webp = {
  lossy: 'UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA',
  lossless: 'UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==',
  alpha:
    'UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==',
  moving:
    'UklGRlIAAABXRUJQVlA4WAoAAAASAAAAAAAAAAAAQU5JTQYAAAD/////AABBTk1GJgAAAAAAAAAAAAAAAAAAAGQAAABWUDhMDQAAAC8AAAAQBxAREYiI/gcA',
} as const;

/** The file with another chunk at its end, which its own length covers. */
export function withWebpChunk(file: string, type: string, data: Buffer): Buffer {
  const bytes = Buffer.concat([
    Buffer.from(file, 'base64'),
    Buffer.from(type, 'latin1'),
    Buffer.from([data.length, 0, 0, 0]),
    data,
    Buffer.alloc(data.length % 2),
  ]);
  bytes.writeUInt32LE(bytes.length - 8, 4);
  return bytes;
}

const open = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
export const svg = (inner: string, attributes = 'viewBox="0 0 24 12"'): string =>
  `${open} ${attributes}>${inner}</svg>`;
export const square = '<rect width="4" height="4" fill="#0b6e4f"/>';
