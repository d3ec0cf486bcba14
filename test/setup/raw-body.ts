// The bytes of a response, for supertest's `parse`.
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import type { Response } from 'supertest';

export function asBuffer(
  response: Readable | Response,
  done: (error: Error | null, body: Buffer) => void,
): void {
  if (!(response instanceof Readable)) throw new Error('no stream');
  const chunks: Buffer[] = [];
  response.on('data', (chunk: Buffer) => chunks.push(chunk));
  response.on('end', () => done(null, Buffer.concat(chunks)));
}

/** The text of a gzipped body, which supertest may have decompressed by itself. */
export const unpacked = (body: Buffer): string => (body[0] === 0x1f ? gunzipSync(body) : body).toString();
