// File names for downloads and attachments.

const maxBytes = 200;
/** Names that Windows gives to devices, whatever follows a dot. */
const reserved = /^(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])$/i;

/**
 * A file name that is valid on every operating system: no path, no control characters, no name of a device,
 * not too long. Letters of all scripts keep their marks. `records` where nothing is left.
 */
export function safeFileName(name: string): string {
  const [, stem = '', ending = ''] = /^(.*?)(\.[a-z]+)?$/su.exec(name) ?? [];
  // The zero-width joiners are parts of words in Hindi, Persian and others.
  const kept = stem
    .replaceAll(/(?:(?!\p{Join_Control})[^\p{L}\p{M}\p{N} _-])+/gu, '-')
    .replaceAll(/^[\s-]+|[\s-]+$/gu, '');
  let cut = '';
  for (const { segment } of new Intl.Segmenter().segment(kept)) {
    if (Buffer.byteLength(cut + segment) > maxBytes) break;
    cut += segment;
  }
  const usable = cut.trimEnd() || 'records';
  return `${usable}${reserved.test(usable) ? '-file' : ''}${ending}`;
}
