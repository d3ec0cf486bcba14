// Answers as the files in test/public/golden have them.
import type { Get } from './fixture.ts';

/** After `#`, an address may have a media type other than JSON. */
export async function answersText(get: Get, addresses: readonly string[], hasLinks = true): Promise<string> {
  const texts: string[] = [];
  for (const address of addresses) {
    const [path = '', accept = 'application/json'] = address.split('#');
    const { status, text, headers } = await get(path, { accept }).buffer(true);
    const links = hasLinks ? `${headers['link'] ?? 'no links'}\n` : '';
    const shown = text.replace(/"requestId":"[^"]*"/, '"requestId":"…"');
    texts.push(`${address}\n${status} ${headers['content-type']}\n${links}${shown}\n`);
  }
  return texts.join('\n');
}
