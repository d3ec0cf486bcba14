import { type Config, warningsAbout } from '../config.ts';
import type { Log } from '../core/log.ts';
import type { OpenedDatabase } from '../open-database.ts';

/** Logs that requests are answered, after what is probably a mistake in the configuration. */
export function logListening(
  log: Log,
  config: Config,
  { embedded }: OpenedDatabase,
  url: string,
  more: object = {},
): void {
  for (const warning of warningsAbout(config)) log.warn(warning);
  log.info({ url, database: embedded === undefined ? 'external' : 'embedded', ...more }, 'listening');
}
