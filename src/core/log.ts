// The structured log. Secrets are cut out by name, up to three levels deep, before a line is written.
import { type DestinationStream, type Logger, pino } from 'pino';

export type Log = Logger;

const secretNames = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'token',
  'tokenSecret',
  'consumerSecret',
  'privateKey',
  'privateKeyPem',
  'clientAssertion',
  'client_assertion',
  'access_token',
  'apiKey',
  'encryptionKey',
  'connectionString',
];
/** Characters. */
const mostGathered = 16 * 1024;
const redactedPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/** A process has one standard output, however many logs write to it. */
let standardOutput: DestinationStream | undefined;

/**
 * To standard output. Lines of one turn of the event loop are written together at its end: a busy service logs many at a time, and
 * a write of its own for each costs as much as making it. Whatever ends the process writes what is left, but for SIGKILL.
 */
function openOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  let gathered = '';
  const write = (): void => {
    const lines = gathered;
    gathered = '';
    if (lines !== '') output.write(lines);
  };
  process.once('exit', write);
  return {
    write(line) {
      if (gathered === '') setImmediate(write);
      gathered += line;
      if (gathered.length > mostGathered) write();
    },
  };
}

function toStandardOutput(): DestinationStream {
  standardOutput ??= openOutput();
  return standardOutput;
}

export function openLog(level: string, destination: DestinationStream = toStandardOutput()): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: redactedPaths, censor: '[redacted]' } },
    destination,
  );
}
