// PostgreSQL ends a line of CSV with a line feed; RFC 4180 wants carriage return and line feed. Line feeds within quotes belong to
// values and stay as they are.

const quote = 0x22;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** Takes CSV piece by piece, cut anywhere, and gives each piece back with its line ends as RFC 4180 has them. */
export function openLineEnds(): (chunk: Buffer) => Buffer {
  let quoted = false;
  return (chunk) => {
    const ends: number[] = [];
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at];
      if (byte === quote) quoted = !quoted;
      else if (byte === lineFeed && !quoted) ends.push(at);
    }
    if (ends.length === 0) return chunk;
    const out = Buffer.allocUnsafe(chunk.length + ends.length);
    let from = 0;
    let to = 0;
    for (const end of ends) {
      to += chunk.copy(out, to, from, end);
      out[to] = carriageReturn;
      to += 1;
      from = end;
    }
    chunk.copy(out, to, from);
    return out;
  };
}
