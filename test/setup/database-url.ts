import type { TestServer } from './global.ts';

/** The address as DATABASE_URL. */
export function databaseUrl({ host, port, user, password, database }: TestServer): string {
  return host.startsWith('/')
    ? `postgres://${user}:${password}@/${database}?host=${encodeURIComponent(host)}&port=${port}`
    : `postgres://${user}:${password}@${host}:${port}/${database}`;
}
