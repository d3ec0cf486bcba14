// Whether a PNG can be decoded. PDFKit decodes one later, where a failure can't be caught any more.
import { inflateSync } from 'node:zlib';
import { listPasses } from '../core/png-passes.ts';

/** Decoding takes memory for every pixel, however small the file. */
const maxPixels = 4_194_304;
const signature = '89504e470d0a1a0a';
/** Samples of a pixel, by colour type. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
const highestFilter = 4;

/** The header and the compressed pixels; undefined where the chunks don't fit into each other. */
function readChunks(file: Buffer): { header: Buffer; pixels: Buffer } | undefined {
  let header: Buffer | undefined;
  const pixels: Buffer[] = [];
  if (file.toString('hex', 0, 8) !== signature) return undefined;
  for (let at = 8; at + 12 <= file.length; ) {
    const end = at + 8 + file.readUInt32BE(at);
    const name = file.toString('latin1', at + 4, at + 8);
    const data = file.subarray(at + 8, end);
    if (end + 4 > file.length) return undefined;
    if (name === 'IHDR' && data.length === 13) header = data;
    if (name === 'IDAT') pixels.push(data);
    if (name === 'IEND') return header && { header, pixels: Buffer.concat(pixels) };
    at = end + 4;
  }
  return undefined;
}

/** False for more pixels than can be decoded, too. */
export function isDecodable(bytes: Uint8Array): boolean {
  const chunks = readChunks(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (chunks === undefined) return false;
  const { header, pixels } = chunks;
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  const [bits = 0, colorType = 0, , , interlacing = 0] = header.subarray(8);
  const bitsPerPixel = bits * (samples[colorType] ?? 0);
  if (width * height === 0 || width * height > maxPixels || bitsPerPixel === 0 || bits > 16) return false;
  const passes = listPasses({ width, height, bitsPerPixel, isInterlaced: interlacing === 1 });
  const rows = passes.flatMap((pass) => Array.from({ length: pass.rows }, () => pass.bytes));
  const length = rows.reduce((sum, row) => sum + row, 0);
  try {
    const decoded = inflateSync(pixels, { maxOutputLength: length });
    let at = 0;
    return (
      decoded.length === length &&
      rows.every((row) => {
        const isKnown = (decoded[at] ?? 0) <= highestFilter;
        at += row;
        return isKnown;
      })
    );
  } catch {
    return false;
  }
}
