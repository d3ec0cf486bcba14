// Loaded before the service in a process whose clock a test sets: the file named by CLOCK_FILE says by how many milliseconds the time
// of day is off. What only measures (timers, performance.now) runs on, as it does where an operator sets a machine's clock.
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
  construct: (target, given: unknown[], made) => Reflect.construct(target, given.length === 0 ? [Real.now() + offMs] : given, made),
  get: (target, name) => (name === 'now' ? () => Real.now() + offMs : Reflect.get(target, name)),
});
