// The real Caddy with the configuration of docs/portal-domains.md in front of a service, on loopback alone and with
// certificates of its internal authority.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findStablePort } from '../setup/stable-port.ts';
import { until } from '../setup/until.ts';
import { readBlocks } from './documents/blocks.ts';

const page = 'docs/portal-domains.md';
const { status } = spawnSync('caddy', ['version']);
/** Why Caddy can't run, for `describeIf`; undefined when it can. */
export const noCaddy: string | undefined = status === 0 ? undefined : 'Caddy is not installed';

type Upstream = {
  /** `host:port` of the service and of its metrics. */
  readonly service: string;
  readonly metrics: string;
  /** The host of PUBLIC_URL. */
  readonly ownHost: string;
};
export type Reply = { readonly status: number; readonly body: string };
export type CaddyProcess = {
  /** A GET request to this hostname. Rejects with an Error when the TLS handshake fails. */
  get(hostname: string, url: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  stop(): Promise<void>;
};

function replaceIn(text: string, replacements: readonly (readonly [string, string])[]): string {
  return replacements.reduce((changed, [from, to]) => {
    if (!changed.includes(from)) throw new Error(`${page}: the Caddyfile lacks ${from}`);
    return changed.replaceAll(from, to);
  }, text);
}

/** The documented Caddyfile with other addresses, and certificates of the internal authority. */
function toCaddyfile({ service, metrics, ownHost }: Upstream, ports: { http: number; https: number }) {
  const documented = readBlocks(page).find(({ language }) => language === 'caddyfile')?.text ?? '';
  const replaced = replaceIn(documented, [
    ['127.0.0.1:9090', metrics],
    ['127.0.0.1:8080', service],
    ['portal.example.com', ownHost],
  ]);
  const options = [
    ...['admin off', 'local_certs', 'skip_install_trust', 'default_bind 127.0.0.1'],
    ...[`http_port ${ports.http}`, `https_port ${ports.https}`],
  ];
  return replaced.replace('{\n', `{\n${options.map((option) => `  ${option}\n`).join('')}`);
}

/** A request on a connection of its own. */
function get(
  { port, ca }: { port: number; ca: Buffer },
  hostname: string,
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const address = { host: '127.0.0.1', port, servername: hostname, ca, agent: false, path: url };
    request({ ...address, headers: { host: hostname, ...headers } }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body })).on('error', reject);
    })
      .on('error', reject)
      .end();
  });
}

async function findPorts(): Promise<{ http: number; https: number }> {
  const [http, https] = [await findStablePort(), await findStablePort()];
  return http === https ? findPorts() : { http, https };
}

/** Starts it without any certificate. The caller must stop it. */
export async function startCaddy(upstream: Upstream): Promise<CaddyProcess> {
  const folder = await mkdtemp(path.join(tmpdir(), 'portal-caddy-'));
  const ports = await findPorts();
  const file = path.join(folder, 'Caddyfile');
  await writeFile(file, toCaddyfile(upstream, ports));
  const child = spawn('caddy', ['run', '--config', file, '--adapter', 'caddyfile'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(child, 'close');
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    log += text;
  });
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`Caddy ended: ${log}`);
    return log.includes('serving initial configuration');
  }).catch((error: unknown) => {
    child.kill('SIGKILL');
    throw error;
  });
  const ca = await readFile(path.join(folder, 'caddy/pki/authorities/local/root.crt'));
  return {
    get: (hostname, url, headers = {}) => get({ port: ports.https, ca }, hostname, url, headers),
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
