// Liquid measures its render limit with `performance.now`. In the worker thread that becomes the CPU time of
// the thread, so that a busy or briefly suspended machine doesn't fail a rendering.
const now = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

export function measureCpuTime(): void {
  Object.defineProperty(globalThis, 'performance', { value: { now } });
}
