// Runs after every installation. Plain JavaScript, because npm may run on an older Node.js than the service
// needs.
import { existsSync, mkdirSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';

const packages = path.resolve('node_modules');

/**
 * Makes npm scripts run on the Node.js that package.json pins (node-<platform>-<arch>): npm 10 drops the
 * command link when several platform packages share the name `node`.
 */
function linkNode(folder) {
  const pinned = path.join(folder, 'bin', 'node');
  const link = path.join(packages, '.bin', 'node');
  if (!existsSync(pinned) || existsSync(link)) return;
  rmSync(link, { force: true });
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(path.relative(path.dirname(link), pinned), link);
}

/**
 * What a debugger of other people's code would read: a tenth of the size of all packages, and a quarter of
 * those in production. Links are not followed, as `recursive` would: they lead to folders that npm did not
 * install.
 */
function deleteSourceMaps(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const at = path.join(folder, entry.name);
    if (entry.isDirectory()) deleteSourceMaps(at);
    else if (entry.isFile() && /\.(?:[cm]?[jt]s|css)\.map$/.test(entry.name)) rmSync(at);
  }
}

const node = path.join(packages, `node-${process.platform}-${process.arch}`);
linkNode(node);
// Headers for compiling native add-ons, which no package here has.
rmSync(path.join(node, 'include'), { recursive: true, force: true });
// Pictures and PDFs that show what the library can do: 4 MB, of 124 kB that are used.
rmSync(path.join(packages, 'svg-to-pdfkit', 'examples'), { recursive: true, force: true });
if (existsSync(packages)) deleteSourceMaps(packages);
