// Reads the environment through one schema that reports all problems at once. Only main.ts passes process.env to it.
import { isIP } from 'node:net';
import path from 'node:path';
import { z } from 'zod';
import type { EncryptionKey } from './core/keyring.ts';
import { isLoopbackHttp } from './core/loopback.ts';
import { defaultQuotas, type QuotaKind, type Settings } from './core/settings.ts';

const megabyte = 1024 * 1024;
const flag = (fallback: boolean) => z.stringbool().default(fallback);
const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== ''),
  );
const optionalInteger = (min: number, max: number) => {
  const message = `must be a whole number from ${min} to ${max}`;
  return z
    .string()
    .regex(/^\d{1,9}$/, message)
    .transform(Number)
    .refine((value) => value >= min && value <= max, message)
    .optional();
};
const integer = (min: number, max: number, fallback: number) => optionalInteger(min, max).unwrap().default(fallback);
/** The values of Express's `trust proxy`: the number of proxies in front of the service, or their addresses. */
const trustedProxies = z.string().transform((text, context): boolean | number | string => {
  if (text === 'true' || text === 'false') return text === 'true';
  if (/^\d{1,2}$/.test(text)) return Number(text);
  const valid = text.split(',').every((part) => {
    const [address = '', prefix = '0', ...more] = part.trim().split('/');
    const family = isIP(address);
    if (['loopback', 'linklocal', 'uniquelocal'].includes(part.trim())) return true;
    return family !== 0 && /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128) && more.length === 0;
  });
  if (valid) return text;
  context.addIssue({ code: 'custom', message: 'must be true, false, a number of proxies, or addresses and networks separated by commas' });
  return z.NEVER;
});
/** The address of a DNS server: 9.9.9.9, 127.0.0.1:5353, 2620:fe::fe or [::1]:5353. */
const isServerAddress = (text: string): boolean => {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([\d.]+|[\da-f:]+))(?::(\d{1,5}))?$/i.exec(text) ?? [];
  return isIP(bracketed ?? plain ?? '') !== 0 && Number(port ?? 53) <= 65_535;
};
const postgresUrl = z.string().regex(/^postgres(ql)?:\/\//, 'must be a postgres:// URL');
const httpUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' });
const isOrigin = (text: string): boolean => {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && (text === url.origin || text === `${url.origin}/`);
};
/** A URL without path, query or credentials. */
const origin = z.string().refine(isOrigin, 'must be an http or https URL without a path');
const encryptionKeys = z.string().transform((text, context): EncryptionKey[] => {
  const keys = text.split(',').map((part) => {
    const [id = '', secret = ''] = part.trim().split(':');
    return { id, bytes: Buffer.from(secret, 'base64') };
  });
  const valid = keys.every(({ id, bytes }) => /^[A-Za-z0-9_-]{1,32}$/.test(id) && bytes.length === 32);
  if (!valid || new Set(keys.map(({ id }) => id)).size !== keys.length) {
    context.addIssue({
      code: 'custom',
      message: 'must be <id>:<32 bytes in base64>; several are separated by commas, the current one first, each with a different id',
    });
    return z.NEVER;
  }
  return keys;
});

/** For example `views=100,agents=5`; kinds that aren't listed keep their defaults. */
const organizationLimits = list.transform((items, context): Readonly<Record<QuotaKind, number>> => {
  const given = items.map((item) => /^(\w+)=(\d{1,7})$/.exec(item) ?? []);
  if (given.every(([, name]) => name !== undefined && Object.hasOwn(defaultQuotas, name)))
    return { ...defaultQuotas, ...Object.fromEntries(given.map(([, name = '', max]) => [name, Number(max)])) };
  context.addIssue({
    code: 'custom',
    message: `must be <kind>=<number>, several separated by commas; the kinds are: ${Object.keys(defaultQuotas).join(', ')}`,
  });
  return z.NEVER;
});

/** All variables of the service; a test compares this list with .env.example. */
export const Environment = z.object({
  NODE_ENV: z.enum(['development', 'test', 'production']).default('development'),
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: integer(0, 65_535, 8080),
  METRICS_HOST: z.string().min(1).default('127.0.0.1'),
  METRICS_PORT: optionalInteger(0, 65_535),
  SHUTDOWN_SECONDS: integer(1, 3_600, 25),
  SHUTDOWN_DRAIN_SECONDS: integer(0, 600, 0),
  PUBLIC_URL: origin.optional(),
  DATA_DIR: z.string().min(1).default('.data'),
  DATABASE_URL: postgresUrl.optional(),
  WAREHOUSE_URL: postgresUrl.optional(),
  ENCRYPTION_KEY: encryptionKeys.optional(),
  CONTROL_POOL_SIZE: integer(2, 100, 8),
  DATA_POOL_SIZE: integer(2, 100, 10),
  LOOKUP_POOL_SIZE: integer(1, 100, 2),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  TRUST_PROXY: trustedProxies.default(false),
  CORS_ORIGINS: list.refine((origins) => origins.every(isOrigin), 'must be web origins such as https://shop.example, separated by commas'),
  ALLOW_SIGNUP: flag(false),
  ORGANIZATION_LIMITS: organizationLimits,
  ORGANIZATIONS_PER_PERSON: integer(0, 1_000_000, 50),
  RATE_LIMIT_PER_MINUTE: integer(1, 1_000_000, 60),
  READ_TIMEOUT_MS: integer(100, 600_000, 10_000),
  PUBLIC_REQUESTS: integer(1, 100_000, 1_000),
  READ_WAIT_MS: integer(1, 600_000, 3_000),
  HTTP_CONNECTIONS: integer(1, 1_000_000, 10_000),
  EXPORT_POOL: integer(1, 50, 4),
  EXPORT_QUEUE: integer(0, 1_000, 32),
  EXPORT_SECONDS: integer(1, 86_400, 900),
  EXPORT_BYTES_PER_SECOND: integer(0, 100_000_000, 16_384),
  BODY_CACHE_MB: integer(0, 65_536, 32),
  TOTAL_CACHE_MB: integer(0, 4_096, 8),
  ANCHOR_CACHE_MB: integer(0, 4_096, 16),
  STATEMENT_CACHE_MB: integer(1, 4_096, 8),
  TRUSTED_CACHE_MB: integer(1, 4_096, 8),
  VERSION_CACHE_MB: integer(1, 4_096, 16),
  ALLOWED_ERP_HOSTS: list,
  ALLOW_PRIVATE_ERP_HOSTS: flag(false),
  ERP_CONCURRENCY: integer(1, 20, 2),
  SYNC_WORKERS: integer(0, 32, 2),
  SYNC_LEASE_SECONDS: integer(1, 3_600, 60),
  OIDC_ISSUER: httpUrl.optional(),
  OIDC_AUDIENCE: z.string().min(1).optional(),
  OIDC_JWKS_URI: httpUrl.optional(),
  OIDC_USERINFO_URI: httpUrl.optional(),
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  OIDC_CLIENT_SECRET: z.string().min(1).optional(),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must be an smtp:// or smtps:// URL')
    .optional(),
  MAIL_FROM: z.string().min(3).max(320).default('Portal Service <portal@localhost>'),
  MAIL_ATTACHMENT_MB: integer(1, 50, 10),
  SUBSCRIPTION_MAILS_PER_DAY: integer(1, 10_000_000, 10_000),
  DNS_SERVERS: list.refine((servers) => servers.every(isServerAddress), 'must be IP addresses, optionally with :port, separated by commas'),
  AGENT_CREDITS_PER_MONTH: integer(0, 100_000_000, 1_000),
  AGENT_STEPS: integer(1, 50, 8),
  AGENT_INPUT_TOKENS: integer(1, 10_000_000, 60_000),
  AGENT_OUTPUT_TOKENS: integer(1, 1_000_000, 4_000),
  AGENT_HISTORY_TOKENS: integer(0, 1_000_000, 8_000),
  AGENT_TOOL_OUTPUT_BYTES: integer(1_000, 1_000_000, 16_384),
  AGENT_SECONDS: integer(1, 300, 120),
  AGENT_MODELS: list.refine(
    (names) => names.every((name) => /^(anthropic|openai-compatible)\/\S{1,200}$/.test(name)),
    'must be names such as anthropic/<model> or openai-compatible/<model>, separated by commas',
  ),
  ANTHROPIC_API_KEY: z.string().min(1).optional(),
  ANTHROPIC_BASE_URL: httpUrl.default('https://api.anthropic.com/v1'),
  OPENAI_COMPATIBLE_URL: httpUrl.optional(),
  OPENAI_COMPATIBLE_API_KEY: z.string().min(1).optional(),
  STRIPE_API_URL: origin.default('https://api.stripe.com'),
  SANDBOX_PAYMENTS: z.stringbool().optional(),
  DEMO_DATA: z.string().min(1).optional(),
});
type Environment = z.output<typeof Environment>;

export type Config = Environment & { readonly settings: Settings };

export class BadEnvironment extends Error {
  override readonly name = 'BadEnvironment';
  constructor(problems: readonly string[]) {
    super(`Invalid environment variables:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

/** Checks that involve several variables. It works on the raw texts, so that these problems are reported together with the others. */
function crossChecks(given: Readonly<Record<string, string>>): string[] {
  const has = (name: keyof Environment): boolean => given[name] !== undefined;
  const problems: string[] = [];
  if (given['NODE_ENV'] === 'production') {
    const needed = ['DATABASE_URL', 'ENCRYPTION_KEY', 'PUBLIC_URL'] as const;
    problems.push(...needed.filter((name) => !has(name)).map((name) => `${name}: is required in production`));
    if (flag(false).safeParse(given['ALLOW_PRIVATE_ERP_HOSTS']).data === true)
      problems.push('ALLOW_PRIVATE_ERP_HOSTS: is not allowed in production');
  }
  const oidc = (['OIDC_ISSUER', 'OIDC_AUDIENCE', 'OIDC_JWKS_URI'] as const).filter(has).length;
  if ((oidc !== 0 && oidc !== 3) || (oidc === 0 && has('OIDC_USERINFO_URI')))
    problems.push('OIDC_ISSUER, OIDC_AUDIENCE, OIDC_JWKS_URI: must be set together');
  if ((has('OIDC_CLIENT_ID') && oidc === 0) || (has('OIDC_CLIENT_SECRET') && !has('OIDC_CLIENT_ID')))
    problems.push('OIDC_CLIENT_ID: requires OIDC_ISSUER, and OIDC_CLIENT_SECRET requires OIDC_CLIENT_ID');
  if (has('OIDC_CLIENT_ID') && given['OIDC_ISSUER']?.startsWith('http:') === true && !isLoopbackHttp(given['OIDC_ISSUER']))
    problems.push('OIDC_ISSUER: must be an https URL for sign-in, unless it is on this machine');
  for (const [provider, needed] of [
    ['anthropic/', 'ANTHROPIC_API_KEY'],
    ['openai-compatible/', 'OPENAI_COMPATIBLE_URL'],
  ] as const)
    if (given['AGENT_MODELS']?.includes(provider) === true && !has(needed)) problems.push(`AGENT_MODELS: ${provider}… requires ${needed}`);
  if (has('OPENAI_COMPATIBLE_API_KEY') && !has('OPENAI_COMPATIBLE_URL'))
    problems.push('OPENAI_COMPATIBLE_API_KEY: requires OPENAI_COMPATIBLE_URL');
  if (given['STRIPE_API_URL']?.startsWith('http:') === true && !isLoopbackHttp(given['STRIPE_API_URL']))
    problems.push('STRIPE_API_URL: must be an https URL, unless it is on this machine');
  // Plain http would expose keys, tokens and cookies, and allow forging the keys that verify tokens.
  const secret = ['OIDC_JWKS_URI', 'OIDC_USERINFO_URI', 'ANTHROPIC_BASE_URL'] as const;
  const more = [
    ...(given['NODE_ENV'] === 'production' ? (['PUBLIC_URL'] as const) : []),
    ...(has('OPENAI_COMPATIBLE_API_KEY') ? (['OPENAI_COMPATIBLE_URL'] as const) : []),
  ];
  for (const name of [...secret, ...more])
    if (given[name]?.toLowerCase().startsWith('http:') === true && !isLoopbackHttp(given[name]))
      problems.push(`${name}: must be an https URL, unless it is on this machine`);
  const [drain, all] = (['SHUTDOWN_DRAIN_SECONDS', 'SHUTDOWN_SECONDS'] as const).map((name) =>
    Environment.shape[name].safeParse(given[name]),
  );
  if (drain?.data !== undefined && all?.data !== undefined && drain.data >= all.data)
    problems.push('SHUTDOWN_DRAIN_SECONDS: must be less than SHUTDOWN_SECONDS');
  if (has('WAREHOUSE_URL') && !has('DATABASE_URL')) problems.push('WAREHOUSE_URL: requires DATABASE_URL');
  return problems;
}

const withoutSlash = (address: string): string => address.replace(/\/+$/, '');

const toModels = (env: Environment): Settings['models'] => ({
  names: env.AGENT_MODELS,
  anthropic: env.ANTHROPIC_API_KEY === undefined ? null : { apiKey: env.ANTHROPIC_API_KEY, baseUrl: withoutSlash(env.ANTHROPIC_BASE_URL) },
  openAiCompatible:
    env.OPENAI_COMPATIBLE_URL === undefined
      ? null
      : { apiKey: env.OPENAI_COMPATIBLE_API_KEY ?? null, baseUrl: withoutSlash(env.OPENAI_COMPATIBLE_URL) },
});

function toSettings(env: Environment): Settings {
  const client = env.OIDC_CLIENT_ID === undefined ? null : { id: env.OIDC_CLIENT_ID, secret: env.OIDC_CLIENT_SECRET ?? null };
  const { OIDC_ISSUER: issuer, OIDC_AUDIENCE: audience, OIDC_JWKS_URI: jwksUri, OIDC_USERINFO_URI: userinfoUri = null } = env;
  return {
    publicUrl: (env.PUBLIC_URL ?? `http://${env.HOST.includes(':') ? `[${env.HOST}]` : env.HOST}:${env.PORT}`).replace(/\/+$/, ''),
    ownUrl: `http://127.0.0.1:${env.PORT}`,
    sandbox: { allowed: env.SANDBOX_PAYMENTS ?? env.NODE_ENV !== 'production', delayMs: 10_000, payoutEveryMs: 86_400_000 },
    production: env.NODE_ENV === 'production',
    allowSignup: env.ALLOW_SIGNUP,
    quotas: env.ORGANIZATION_LIMITS,
    maxOrganizationsPerPerson: env.ORGANIZATIONS_PER_PERSON,
    session: { idleMs: 12 * 3_600_000, absoluteMs: 7 * 86_400_000 },
    mail: {
      smtpUrl: env.SMTP_URL ?? null,
      from: env.MAIL_FROM,
      outboxFolder: path.join(env.DATA_DIR, 'outbox'),
      maxAttachmentBytes: env.MAIL_ATTACHMENT_MB * megabyte,
      maxSubscriptionMailsPerDay: env.SUBSCRIPTION_MAILS_PER_DAY,
    },
    dnsServers: env.DNS_SERVERS,
    agentCreditsPerMonth: env.AGENT_CREDITS_PER_MONTH,
    models: toModels(env),
    agents: {
      steps: env.AGENT_STEPS,
      inputTokens: env.AGENT_INPUT_TOKENS,
      outputTokens: env.AGENT_OUTPUT_TOKENS,
      historyTokens: env.AGENT_HISTORY_TOKENS,
      toolOutputBytes: env.AGENT_TOOL_OUTPUT_BYTES,
      timeMs: env.AGENT_SECONDS * 1000,
      leaseMs: 15_000,
    },
    rateLimitPerMinute: env.RATE_LIMIT_PER_MINUTE,
    corsOrigins: env.CORS_ORIGINS,
    readTimeoutMs: env.READ_TIMEOUT_MS,
    proof: { warnMs: 250, budgetMs: 600_000, maxPairs: 2_000, smallTableRecords: 10_000 },
    publicLoad: { maxRequests: env.PUBLIC_REQUESTS, maxWaitMs: env.READ_WAIT_MS },
    exports: {
      maxRunning: env.EXPORT_POOL,
      maxWaiting: env.EXPORT_QUEUE,
      maxDurationMs: env.EXPORT_SECONDS * 1000,
      minBytesPerSecond: env.EXPORT_BYTES_PER_SECOND,
      maxSlowMs: 60_000,
    },
    cacheTtlMs: 1_000,
    cacheBytes: {
      bodies: env.BODY_CACHE_MB * megabyte,
      totals: env.TOTAL_CACHE_MB * megabyte,
      anchors: env.ANCHOR_CACHE_MB * megabyte,
      statements: env.STATEMENT_CACHE_MB * megabyte,
      lookups: env.TRUSTED_CACHE_MB * megabyte,
      versions: env.VERSION_CACHE_MB * megabyte,
    },
    anchorEvery: 1_000,
    erp: {
      allowedHosts: env.ALLOWED_ERP_HOSTS,
      concurrency: env.ERP_CONCURRENCY,
      requestTimeoutMs: 120_000,
      maxResponseBytes: 64 * 1024 * 1024,
    },
    sync: {
      leaseMs: env.SYNC_LEASE_SECONDS * 1000,
      renewMs: env.SYNC_LEASE_SECONDS * 250,
      retryBaseMs: 10_000,
      retryMaxMs: 1_800_000,
      maxAttemptsWithoutProgress: 5,
      pageSize: 1_000,
      workers: env.SYNC_WORKERS,
      dropAfterMs: 60_000,
      overlapMs: 600_000,
      settleMs: 300_000,
      scanEveryMs: 86_400_000,
      metadataMaxAgeMs: 86_400_000,
    },
    stripe: { apiUrl: env.STRIPE_API_URL, timeoutMs: 20_000, retries: 1 },
    oidc:
      issuer !== undefined && audience !== undefined && jwksUri !== undefined ? { issuer, audience, jwksUri, userinfoUri, client } : null,
  };
}

/** Throws BadEnvironment with all problems. Empty values count as absent, as in an .env file that lists all names. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) => (value === undefined || value.trim() === '' ? [] : [[name, value.trim()]])),
  );
  const parsed = Environment.safeParse(given);
  const invalid = parsed.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  const problems = [...invalid, ...crossChecks(given)];
  if (!parsed.success || problems.length > 0) throw new BadEnvironment(problems);
  return { ...parsed.data, settings: toSettings(parsed.data) };
}
