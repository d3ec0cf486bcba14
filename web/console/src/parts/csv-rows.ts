const [quote, lineFeed] = [0x22, 0x0a];

/**
 * Counts the rows of a CSV file from its bytes, cut anywhere; line ends within quotes end no row. Each call
 * returns the number of rows so far, without the head.
 */
export function createRowCounter(): (bytes: Uint8Array) => number {
  let [lines, isQuoted] = [0, false];
  return (bytes) => {
    for (const byte of bytes) {
      if (byte === quote) isQuoted = !isQuoted;
      else if (byte === lineFeed && !isQuoted) lines += 1;
    }
    return Math.max(0, lines - 1);
  };
}
