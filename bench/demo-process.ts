// The demo in a process of its own, for benchmarks of what people see.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** Resolves once the demo has loaded its data. Its rate limit is far beyond what a benchmark sends. */
export async function startDemo(folder: string) {
  const child = spawn(process.execPath, ['scripts/run.mjs', 'demo'], {
    env: { ...process.env, DATA_DIR: folder, PORT: '0', RATE_LIMIT_PER_MINUTE: '100000' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout);
  const url = await new Promise<string>((resolve, reject) => {
    lines.on('line', (line) => /The console is at (\S+)/.exec(line)?.slice(1).forEach(resolve));
    lines.on('close', () => reject(new Error('The demo ended before it was ready')));
  });
  return { url, stop: () => Promise.all([once(child, 'exit'), child.kill('SIGINT')]) };
}
