// The text of docs/decisions/README.md: an introduction, and the titles of all decisions by area. Run it after
// a decision was added, removed or renamed: `npm run generate`. A test compares the page.
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(new URL('../docs/decisions/', import.meta.url));
const index = path.join(folder, 'README.md');

const introduction = `# Decisions

What was decided, why, and at what price, by area. A decision is written down when it rejects an alternative that somebody would try again, and
when neither the code nor the topic's page shows the reason. Each describes the code as it is today: one that a later decision replaced is
removed, and one that changed is marked as amended, with the date of the change.

A new decision goes into the file of its area. The lists below are generated: \`npm run generate\` writes this page.
`;

/** The anchor that GitHub gives to a heading. */
const toAnchor = (title: string): string =>
  title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

function listArea(file: string): string {
  const text = readFileSync(path.join(folder, file), 'utf8');
  const [, area = file] = /^# (.+)/.exec(text) ?? [];
  const titles = [...text.matchAll(/^## (.+)/gm)].map(([, title = '']) => title);
  const links = titles.map((title) => `  - [${title}](${file}#${toAnchor(title)})\n`);
  return `- [${area}](${file})\n${links.join('')}`;
}

export function decisionsIndex(): string {
  const files = globSync('*.md', { cwd: folder, exclude: ['README.md'] }).sort();
  return `${introduction}\n${files.map(listArea).join('')}`;
}

if (import.meta.main) writeFileSync(index, decisionsIndex());
