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
const redactedPaths = secretNames.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]);

export function openLog(level: string, destination?: DestinationStream): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, redact: { paths: redactedPaths, censor: '[redacted]' } },
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
}
