// Values that the service hands to a browser or prints in a link, encrypted, and takes back for a limited
// time. Nothing about them is stored.
import { z } from 'zod';
import type { Ctx } from '../core/ctx.ts';

type SealCtx = Pick<Ctx, 'keyring' | 'clock'>;
export type Sealed<T> = {
  seal(ctx: SealCtx, content: T): string;
  /** Undefined unless this service has sealed the text for this purpose, and not too long ago. */
  open(ctx: SealCtx, sealed: string): T | undefined;
};

/** `purpose` keeps values of one kind from being accepted as another. */
export function defineSealed<T extends object>(
  purpose: string,
  ttlMs: number,
  content: z.ZodType<T>,
): Sealed<T> {
  const WithEnd = z.looseObject({ expiresAtMs: z.number() });
  return {
    seal: ({ keyring, clock }, given) =>
      keyring.encrypt(JSON.stringify({ ...given, expiresAtMs: clock.now().getTime() + ttlMs }), purpose),
    open({ keyring, clock }, sealed) {
      let opened: unknown;
      try {
        opened = JSON.parse(keyring.decrypt(sealed, purpose));
      } catch {
        return undefined;
      }
      const end = WithEnd.safeParse(opened).data?.expiresAtMs ?? 0;
      return end > clock.now().getTime() ? content.safeParse(opened).data : undefined;
    },
  };
}
