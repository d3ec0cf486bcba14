// The clients that registered themselves. They keep their id for good, so they are kept in a file too.
import { readFile } from 'node:fs/promises';
import type { AdapterPayload } from 'oidc-provider';
import { z } from 'zod';
import { writePrivateJson } from '../private-file.ts';

export type ClientStore = {
  find(id: string): AdapterPayload | undefined;
  /** Rejects when the file can't be written. */
  save(id: string, payload: AdapterPayload): Promise<void>;
};

/** Anyone may register clients: the oldest ones are dropped. */
const maxClients = 100;
const StoredClients = z.array(z.tuple([z.string(), z.record(z.string(), z.unknown())]));

async function readClients(file: string): Promise<z.output<typeof StoredClients>> {
  try {
    return StoredClients.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    return [];
  }
}

/**
 * Reads the clients of the previous run; none if the file is missing or unreadable. Without a file they are
 * kept in memory only.
 */
export async function openClientStore(file: string | null): Promise<ClientStore> {
  const clients = new Map<string, AdapterPayload>(file === null ? [] : await readClients(file));
  let written: Promise<unknown> = Promise.resolve();
  return {
    find: (id) => clients.get(id),
    async save(id, payload) {
      clients.set(id, payload);
      for (const oldest of [...clients.keys()].slice(0, -maxClients)) clients.delete(oldest);
      if (file === null) return;
      written = written.catch(() => undefined).then(() => writePrivateJson(file, [...clients]));
      await written;
    },
  };
}
