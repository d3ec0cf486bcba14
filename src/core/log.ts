// The structured log. Secrets are cut out before a line is written: by name, up to three levels deep, and by their look wherever they
// stand, as a caller may put his own into an address, and a driver the database's into an error.
import { type DestinationStream, type Logger, pino } from 'pino';
import { systemClock } from './clock.ts';

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

/**
 * Keys and sessions of this service, web tokens, private keys, passwords within addresses, and what follows `Bearer`, `Basic` or a cookie's
 * name. A percent sign may stand for any character of them, so what looks like an escaped one goes too.
 */
const secretForms = [
  'psk(?:_|%5f)[0-9A-Za-z]{6,}',
  String.raw`eyJ[\w-]{8,}(?:\.[\w-]*){0,4}`,
  '-----BEGIN [A-Z ]*PRIVATE KEY-----[^"]*',
  String.raw`(?<=:\/\/[^\s/@"]{0,100}:)[^\s/"]+(?=@)`,
  String.raw`(?<=\b(?:bearer|basic)(?: |%20|\+))[\w~+/=.-]{6,}`,
  String.raw`(?<=\b(?:portal_session|access_token|refresh_token|client_secret|password|token)(?:=|%3d))[^\s"&;,]+`,
].join('|');
/** Found in every line that holds one of them, and quickly not found in the usual line of a request. */
const hint = /psk[_%]|eyj|TE KEY|:\/\/[^/"]*@|[rc][ +%]|[nrdt](?:=|%3d)/i;
const allSecrets = new RegExp(secretForms, 'gi');
const withoutSecrets = (line: string): string => (hint.test(line) ? line.replace(allSecrets, '[redacted]') : line);

/** Of a second all but its milliseconds is made once: a busy service writes thousands of lines in it. */
function openTimestamp(): () => string {
  let second = Number.NaN;
  let untilMilliseconds = '';
  return () => {
    const now = systemClock.now();
    const ms = now.getTime();
    if (Math.floor(ms / 1_000) !== second) {
      second = Math.floor(ms / 1_000);
      untilMilliseconds = now.toISOString().slice(0, -'000Z'.length);
    }
    return `,"time":"${untilMilliseconds}${String(ms % 1_000).padStart(3, '0')}Z"`;
  };
}

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
    {
      level,
      base: null,
      timestamp: openTimestamp(),
      redact: { paths: redactedPaths, censor: '[redacted]' },
      hooks: { streamWrite: withoutSecrets },
    },
    destination,
  );
}
