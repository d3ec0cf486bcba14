// Answers as the files in test/public/golden have them.
import { readFileSync } from 'node:fs';
import type { Get } from './fixture.ts';

export const readKept = (name: string): string =>
  readFileSync(new URL(`golden/${name}.txt`, import.meta.url), 'utf8');

export const createLine = (item: string, quantity: number) => ({
  item,
  'item.name': `Name of ${item}`,
  quantity,
  secretcost: 1,
});

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
