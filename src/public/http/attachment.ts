// The name under which a browser saves a response.
import { safeFileName } from '../../core/text/file-name.ts';

/** The value of Content-Disposition (RFC 6266), with a name in ASCII for clients that know no other. */
export function attachment(fileName: string): string {
  const name = safeFileName(fileName);
  const plain = name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[^\x20-\x7e]/g, '-');
  const encoded = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (one) => `%${one.charCodeAt(0).toString(16)}`,
  );
  return `attachment; filename="${plain}"${plain === name ? '' : `; filename*=UTF-8''${encoded}`}`;
}
