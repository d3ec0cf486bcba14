// Cleans up after a test run that was killed: a small watcher process in a session of its own notices by the
// end of a pipe that this process is gone, stops the PostgreSQL servers in the folder and removes it.
import { spawn } from 'node:child_process';

const script = `read -r _
for file in "$1"/*/postgres-*/postmaster.pid "$1"/data/*/postmaster.pid; do [ -f "$file" ] && kill -INT "$(head -n 1 "$file")"; done
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  [ -z "$(ls "$1"/*/postgres-*/postmaster.pid "$1"/data/*/postmaster.pid 2>/dev/null)" ] && break
  sleep 0.5
done
rm -rf "$1"`;

/**
 * The clusters are in folders inside `folder`, those of Citus in folders inside `<folder>/data`. Call the
 * returned function after an ordinary cleanup. Does nothing on Windows.
 */
export function startCleanupWatcher(folder: string): () => void {
  if (process.platform === 'win32') return () => undefined;
  const watcher = spawn('sh', ['-c', script, 'sh', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  watcher.on('error', () => undefined); // without a shell there is no watcher, which the tests don't need
  watcher.stdin.on('error', () => undefined);
  watcher.unref();
  if ('unref' in watcher.stdin && typeof watcher.stdin.unref === 'function') watcher.stdin.unref();
  return () => watcher.stdin.end();
}
