// The structured log. Secrets are redacted before a line is written: by property name, up to three levels
// deep, and by their format anywhere in the line, because a caller may put a secret into a URL and a driver
// may put the database password into an error.
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
/** Flushes earlier than the end of the event loop turn when this many characters are buffered. */
const maxBufferedChars = 16 * 1024;
const redactedPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

/**
 * This service's API keys, tokens and sessions, JSON web tokens, private keys, passwords in URLs, and what
 * follows `Bearer`, `Basic` or the name of a cookie or token parameter. Percent-encoded forms match too.
 */
const secretPatterns = [
  'psk(?:_|%5f)[0-9A-Za-z]{6,}',
  String.raw`pst(?:_|%5f)[\w.-]{6,}`,
  String.raw`eyJ[\w-]{8,}(?:\.[\w-]*){0,4}`,
  '-----BEGIN [A-Z ]*PRIVATE KEY-----[^"]*',
  String.raw`(?<=:\/\/[^\s/@"]{0,100}:)[^\s/"]+(?=@)`,
  String.raw`(?<=\b(?:bearer|basic)(?: |%20|\+))[\w~+/=.-]{6,}`,
  String.raw`(?<=\b(?:portal_session|access_token|refresh_token|client_secret|password|token)(?:=|%3d))[^\s"&;,]+`,
].join('|');
/** A cheap pre-check: matches every line that holds a secret, and fails fast on the usual request line. */
const hint = /ps[kt][_%]|eyj|TE KEY|:\/\/[^/"]*@|[rc][ +%]|[nrdt](?:=|%3d)/i;
const allSecrets = new RegExp(secretPatterns, 'gi');
const redactSecrets = (line: string) => (hint.test(line) ? line.replace(allSecrets, '[redacted]') : line);

/** Formats the timestamp once per second, then only milliseconds: there are thousands of lines a second. */
function createTimestamp(): () => string {
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

/** Shared by all logs of the process. */
let standardOutput: DestinationStream | undefined;

/**
 * Standard output, buffered: the lines of one turn of the event loop are written together at its end, because
 * a write per line costs as much as formatting the line. The rest is written when the process exits; only
 * SIGKILL loses it.
 */
function createBufferedOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true });
  let buffered = '';
  const flush = (): void => {
    const lines = buffered;
    buffered = '';
    if (lines !== '') output.write(lines);
  };
  process.once('exit', flush);
  return {
    write(line) {
      if (buffered === '') setImmediate(flush);
      buffered += line;
      if (buffered.length > maxBufferedChars) flush();
    },
  };
}

function sharedStandardOutput(): DestinationStream {
  standardOutput ??= createBufferedOutput();
  return standardOutput;
}

export function createLog(level: string, destination: DestinationStream = sharedStandardOutput()): Log {
  return pino(
    {
      level,
      base: null,
      timestamp: createTimestamp(),
      redact: { paths: redactedPaths, censor: '[redacted]' },
      hooks: { streamWrite: redactSecrets },
    },
    destination,
  );
}
