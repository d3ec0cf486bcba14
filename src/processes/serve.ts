// Starts the service in this process and announces it.
import type { Config } from '../config.ts';
import type { Lifecycle } from '../core/work/lifecycle.ts';
import { allowsSignInLinks, createOwnerLink, linkMinutes } from '../identity/sign-in-link.ts';
import type { OpenedDatabase } from '../open-database.ts';
import { type Service, startService } from '../service.ts';
import { logListening } from './log-listening.ts';

/** Prints a link with which the owner of the only organization signs in, where such links are allowed. */
export async function printOwnerLink({ ctx }: Service): Promise<void> {
  const owner = allowsSignInLinks(ctx.settings) ? await createOwnerLink(ctx) : undefined;
  // Next to the log, not in it: the link is a secret.
  if (owner !== undefined)
    console.error(
      `\nTo sign in as ${owner.email}, open this link within ${linkMinutes} minutes:\n${owner.link}\n`,
    );
}

/** Rejects as `startService` does. */
export async function serveAlone(config: Config, opened: OpenedDatabase, life: Lifecycle): Promise<void> {
  const service = await life.open(
    () => startService(config, opened),
    (running) => running.stop(),
  );
  logListening(service.ctx.log, config, opened, service.url);
  await printOwnerLink(service);
}
