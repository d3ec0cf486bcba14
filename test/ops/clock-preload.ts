// Preloaded into a process whose clock a test sets: the file named by CLOCK_FILE contains the offset of the
// time of day in milliseconds. Monotonic time (timers, performance.now) isn't affected, as when an operator
// sets a machine's clock.
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_FILE'] ?? '';
const Real = Date;
let offMs = 0;
const look = (): void => {
  offMs = Number(readFileSync(file, 'utf8'));
};
look();
setInterval(look, 50).unref();

globalThis.Date = new Proxy(Real, {
  construct: (target, given: unknown[], made) =>
    Reflect.construct(target, given.length === 0 ? [Real.now() + offMs] : given, made),
  get: (target, name) => (name === 'now' ? () => Real.now() + offMs : Reflect.get(target, name)),
});
