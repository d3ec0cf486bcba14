// Makes npm scripts run on the Node.js that package.json pins (node-<platform>-<arch>): npm 10 drops the command link
// when several platform packages share the name `node`, so the link is restored after every install.
import { existsSync, mkdirSync, rmSync, symlinkSync } from 'node:fs';
import path from 'node:path';

const pinned = path.resolve('node_modules', `node-${process.platform}-${process.arch}`, 'bin', 'node');
const link = path.resolve('node_modules', '.bin', 'node');
if (existsSync(pinned) && !existsSync(link)) {
  rmSync(link, { force: true });
  mkdirSync(path.dirname(link), { recursive: true });
  symlinkSync(path.relative(path.dirname(link), pinned), link);
}
