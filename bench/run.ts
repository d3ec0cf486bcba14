// npm run bench -- <name> [arguments]: runs one of the benchmarks in this folder, or lists them.
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';

const usage = 'Usage: npm run bench -- ';
const header = (file: string): string =>
  /^(?:\/\/.*\n)*/.exec(readFileSync(file, 'utf8'))?.[0].replace(/\s*\/\/ ?/g, ' ') ?? '';
const files = globSync(path.join(import.meta.dirname, '*.ts'))
  .filter((file) => file !== import.meta.filename && header(file).includes(usage))
  .sort();

const [name] = process.argv.splice(2, 2).slice(1);
const file = files.find((each) => path.basename(each, '.ts') === name);
if (file === undefined) {
  console.error(`${usage}<name> [arguments]\n`);
  for (const each of files) {
    const [purpose = '', how = ''] = header(each).split(usage);
    console.error(`${how.trim()}\n    ${purpose.trim()}\n`);
  }
  process.exitCode = 2;
} else await import(file);
