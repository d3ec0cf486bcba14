// Builds the console (web/console) into static files that the service serves. Does nothing when neither its
// sources nor its packages changed since the last build, or where the sources are not, as in a production
// image, which brings the built files along. Usage: node scripts/build-console.mjs [folder: builds into this
// one, always]
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../web/', import.meta.url));
const root = path.join(web, 'console');
const dist = path.join(root, 'dist');
/** Names the sources that the files of a folder were built from. */
const mark = '.built-from';

function hashSources() {
  const hash = createHash('sha256');
  const sources = ['console/src', 'shared'].flatMap((folder) =>
    readdirSync(path.join(web, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name)),
  );
  for (const file of [
    ...sources,
    ...['index.html', 'package.json', 'vite.config.ts'].map((name) => path.join(root, name)),
  ].sort())
    hash.update(`${path.relative(web, file)}\n`).update(readFileSync(file));
  return hash.digest('hex');
}

/** Whether the sources are here and the built files are of others, or missing. */
export function isStale() {
  if (!existsSync(path.join(root, 'src'))) return false;
  return !isBuiltFrom(hashSources());
}

function isBuiltFrom(sources) {
  try {
    return readFileSync(path.join(dist, mark), 'utf8') === sources;
  } catch (error) {
    if (error.code === 'ENOENT') return false;
    throw error;
  }
}

/** Renames a folder, unless another process was faster. */
function tryRename(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) throw error;
  }
}

/**
 * Makes `built` the folder `dist`, which is whole at any time. Of several processes that built the same, one
 * does so.
 */
function putInPlace(built, sources) {
  const old = `${built}-old`;
  writeFileSync(path.join(built, mark), sources);
  if (!isBuiltFrom(sources)) {
    tryRename(dist, old);
    tryRename(built, dist);
  }
  for (const folder of [built, old]) rmSync(folder, { recursive: true, force: true });
}

async function build(folder) {
  let vite;
  try {
    vite = await import(createRequire(path.join(root, 'package.json')).resolve('vite'));
  } catch {
    console.error(
      'The console is not built, because Vite is not installed. npm ci without --omit=dev installs it.',
    );
    process.exitCode = 1;
    return;
  }
  const sources = hashSources();
  // Vite builds for development when the environment says so, such as in a test.
  process.env.NODE_ENV = 'production';
  const options = { root, configFile: path.join(root, 'vite.config.ts'), logLevel: 'warn' };
  // Several processes may build at once, each into a folder of its own, next to the other generated files.
  const outDir =
    folder === undefined ? path.join(root, '.generated', `build-${randomUUID()}`) : path.resolve(folder);
  await vite.build({ ...options, build: { outDir, emptyOutDir: true } });
  if (folder === undefined) putInPlace(outDir, sources);
}

const [, script, folder] = process.argv;
if (script === fileURLToPath(import.meta.url) && (folder !== undefined || isStale())) await build(folder);
