// Builds what Vite makes of web/console (static files that the service serves) and of web/portal (a module that
// the service loads). Does nothing for one whose sources and packages have not changed since its last build, or
// where the sources are not, as in a production image, which brings the built files along. Usage:
// node scripts/build-web.mjs [console or portal [folder: builds into this one, always]]
import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../web/', import.meta.url));
/** Of each, the folders and files below web that it is built from. */
const sourcesOf = {
  console: {
    folders: ['console/src', 'shared'],
    files: ['console/index.html', 'console/package.json', 'console/vite.config.ts'],
  },
  portal: {
    folders: ['portal/src', 'portal/messages'],
    files: ['portal/package.json', 'portal/vite.config.ts'],
  },
};
const names = Object.keys(sourcesOf);
/** Names the sources that the files of a folder were built from. */
const mark = '.built-from';

const distOf = (name) => path.join(web, name, 'dist');

function hashSources(name) {
  const hash = createHash('sha256');
  const { folders, files } = sourcesOf[name];
  const sources = folders.flatMap((folder) =>
    readdirSync(path.join(web, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name)),
  );
  for (const file of [...sources, ...files.map((file) => path.join(web, file))].sort())
    hash.update(`${path.relative(web, file)}\n`).update(readFileSync(file));
  return hash.digest('hex');
}

/** Those whose sources are here and whose built files are of others, or missing. */
const listStale = () =>
  names.filter((name) => existsSync(path.join(web, name, 'src')) && !isBuiltFrom(name, hashSources(name)));

/** Whether one of them is to be built. */
export const isStale = () => listStale().length > 0;

function isBuiltFrom(name, sources) {
  try {
    return readFileSync(path.join(distOf(name), mark), 'utf8') === sources;
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
function putInPlace(name, built, sources) {
  const old = `${built}-old`;
  writeFileSync(path.join(built, mark), sources);
  if (!isBuiltFrom(name, sources)) {
    tryRename(distOf(name), old);
    tryRename(built, distOf(name));
  }
  for (const folder of [built, old]) rmSync(folder, { recursive: true, force: true });
}

async function build(name, folder) {
  const root = path.join(web, name);
  let vite;
  try {
    vite = await import(createRequire(path.join(root, 'package.json')).resolve('vite'));
  } catch {
    console.error(
      `The ${name} is not built, because Vite is not installed. npm ci without --omit=dev installs it.`,
    );
    process.exitCode = 1;
    return;
  }
  const sources = hashSources(name);
  // Vite builds for development when the environment says so, such as in a test.
  process.env.NODE_ENV = 'production';
  const options = { root, configFile: path.join(root, 'vite.config.ts'), logLevel: 'warn' };
  // Several processes may build at once, each into a folder of its own, next to the other generated files.
  const outDir =
    folder === undefined ? path.join(root, '.generated', `build-${randomUUID()}`) : path.resolve(folder);
  await vite.build({ ...options, build: { outDir, emptyOutDir: true } });
  if (folder === undefined) putInPlace(name, outDir, sources);
}

const [, script, chosen, folder] = process.argv;
if (script === fileURLToPath(import.meta.url)) {
  if (chosen !== undefined && !names.includes(chosen)) throw new Error(`Unknown: ${chosen}; known: ${names}`);
  const wanted = folder === undefined ? listStale() : names;
  for (const name of wanted) if (chosen === undefined || chosen === name) await build(name, folder);
}
