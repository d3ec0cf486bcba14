// The PostgreSQL settings with which an embedded server starts.

/**
 * For two cores and a few gigabytes shared with other programs; without replication, so that loading into new
 * tables bypasses the WAL.
 */
const DEFAULT_SETTINGS: Record<string, string> = {
  cluster_name: 'portal-service',
  max_connections: '100',
  shared_buffers: '256MB',
  effective_cache_size: '1GB',
  work_mem: '16MB',
  maintenance_work_mem: '128MB',
  random_page_cost: '1.1',
  max_parallel_workers: '2',
  max_parallel_workers_per_gather: '1',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  max_wal_size: '2GB',
  checkpoint_timeout: '15min',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
};
/** Settings that callers can't change: only the service's user reaches the server, with a password. */
const FIXED_SETTINGS = new Set([
  'data_directory',
  'hba_file',
  'listen_addresses',
  'port',
  'unix_socket_directories',
]);

/** The defaults with the caller's changes. Throws for an unknown name, or one that can't be changed. */
export function serverSettings(wanted: Record<string, string>): Record<string, string> {
  for (const name of Object.keys(wanted)) {
    if (FIXED_SETTINGS.has(name.toLowerCase()))
      throw new Error(`The PostgreSQL setting ${name} can't be changed for the embedded server.`);
    if (!/^[a-z_][\w.]*$/i.test(name))
      throw new Error(`${JSON.stringify(name)} is not the name of a PostgreSQL setting.`);
  }
  return { ...DEFAULT_SETTINGS, ...wanted };
}
