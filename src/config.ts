// Reads the environment through one schema that reports all problems at once. Only main.ts passes process.env
// to it. What the variables are is declared in core/settings.ts.
import path from 'node:path';
import { z } from 'zod';
import { isLoopbackHttp, isLoopbackName } from './core/network/loopback.ts';
import { listVariables, settingsFrom } from './core/settings/declare.ts';
import { encryptionKeys, isTrivialKey } from './core/settings/values.ts';
import { type DerivedSettings, declaredSettings, type Environment, type Settings } from './core/settings.ts';

export type Config = Environment & { readonly settings: Settings };

const variables = listVariables(declaredSettings);
const schemas = Object.fromEntries(
  variables.map(({ name, type, fallback }): [string, z.ZodType] => [
    name,
    fallback === '' ? type : type.prefault(fallback),
  ]),
);
const getSchema = (name: keyof Environment): z.ZodType => schemas[name] ?? z.never();

export class BadEnvironment extends Error {
  override readonly name = 'BadEnvironment';
  constructor(problems: readonly string[]) {
    super(`Invalid environment variables:\n${problems.map((problem) => `  ${problem}`).join('\n')}`);
  }
}

type Given = Readonly<Record<string, string>>;

function checkProduction(given: Given): string[] {
  if (given['NODE_ENV'] !== 'production') return [];
  const needed = ['DATABASE_URL', 'ENCRYPTION_KEY', 'PUBLIC_URL'] as const;
  const missing = needed.filter((name) => given[name] === undefined);
  const problems = missing.map((name) => `${name}: is required in production`);
  if (getSchema('ALLOW_PRIVATE_ERP_HOSTS').safeParse(given['ALLOW_PRIVATE_ERP_HOSTS']).data === true)
    problems.push('ALLOW_PRIVATE_ERP_HOSTS: is not allowed in production');
  if (encryptionKeys.safeParse(given['ENCRYPTION_KEY'] ?? '').data?.some(isTrivialKey) === true)
    problems.push('ENCRYPTION_KEY: is not random; create one with openssl rand -base64 32');
  return problems;
}

function checkProviders(given: Given): string[] {
  const has = (name: keyof Environment): boolean => given[name] !== undefined;
  const problems: string[] = [];
  const oidc = (['OIDC_ISSUER', 'OIDC_AUDIENCE', 'OIDC_JWKS_URI'] as const).filter(has).length;
  if ((oidc !== 0 && oidc !== 3) || (oidc === 0 && has('OIDC_USERINFO_URI')))
    problems.push('OIDC_ISSUER, OIDC_AUDIENCE, OIDC_JWKS_URI: must be set together');
  if ((has('OIDC_CLIENT_ID') && oidc === 0) || (has('OIDC_CLIENT_SECRET') && !has('OIDC_CLIENT_ID')))
    problems.push('OIDC_CLIENT_ID: requires OIDC_ISSUER, and OIDC_CLIENT_SECRET requires OIDC_CLIENT_ID');
  for (const [provider, needed] of [
    ['anthropic/', 'ANTHROPIC_API_KEY'],
    ['openai-compatible/', 'OPENAI_COMPATIBLE_URL'],
  ] as const)
    if (given['AGENT_MODELS']?.includes(provider) === true && !has(needed))
      problems.push(`AGENT_MODELS: ${provider}… requires ${needed}`);
  if (has('OPENAI_COMPATIBLE_API_KEY') && !has('OPENAI_COMPATIBLE_URL'))
    problems.push('OPENAI_COMPATIBLE_API_KEY: requires OPENAI_COMPATIBLE_URL');
  const byMail = given['SIGN_IN_BY_MAIL'];
  if (byMail === 'true' && oidc > 0)
    problems.push(
      'SIGN_IN_BY_MAIL: a code passes by the second factor of OIDC_ISSUER; set it to with-provider if that is intended',
    );
  if (byMail === 'with-provider' && oidc === 0)
    problems.push('SIGN_IN_BY_MAIL: with-provider requires OIDC_ISSUER; without a provider set it to true');
  if (
    (byMail === 'true' || byMail === 'with-provider') &&
    given['NODE_ENV'] === 'production' &&
    !has('SMTP_URL')
  )
    problems.push('SIGN_IN_BY_MAIL: requires SMTP_URL in production');
  return problems;
}

/**
 * Checks that involve several variables. It works on the raw texts, so that these problems are reported
 * together with the others.
 */
function crossChecks(given: Given): string[] {
  const has = (name: keyof Environment): boolean => given[name] !== undefined;
  const problems = [...checkProduction(given), ...checkProviders(given)];
  if (given['STRIPE_API_URL']?.startsWith('http:') === true && !isLoopbackHttp(given['STRIPE_API_URL']))
    problems.push('STRIPE_API_URL: must be an https URL, unless it is on this machine');
  // Plain http would expose keys, tokens and cookies, and allow forging the keys that verify tokens.
  const secret = ['OIDC_ISSUER', 'OIDC_JWKS_URI', 'OIDC_USERINFO_URI', 'ANTHROPIC_BASE_URL'] as const;
  const more = [
    ...(given['NODE_ENV'] === 'production' ? (['PUBLIC_URL'] as const) : []),
    ...(has('OPENAI_COMPATIBLE_API_KEY') ? (['OPENAI_COMPATIBLE_URL'] as const) : []),
  ];
  for (const name of [...secret, ...more])
    if (given[name]?.toLowerCase().startsWith('http:') === true && !isLoopbackHttp(given[name]))
      problems.push(`${name}: must be an https URL, unless it is on this machine`);
  const [drain, all] = (['SHUTDOWN_DRAIN_SECONDS', 'SHUTDOWN_SECONDS'] as const).map((name) =>
    z.number().safeParse(getSchema(name).safeParse(given[name]).data),
  );
  if (drain?.data !== undefined && all?.data !== undefined && drain.data >= all.data)
    problems.push('SHUTDOWN_DRAIN_SECONDS: must be less than SHUTDOWN_SECONDS');
  for (const name of ['WAREHOUSE_URL', 'WAREHOUSE_FROM_URL', 'MIGRATION_DATABASE_URL', 'READ_URL'] as const)
    if (has(name) && !has('DATABASE_URL')) problems.push(`${name}: requires DATABASE_URL`);
  return problems;
}

const withoutSlash = (address: string): string => address.replace(/\/+$/, '');

const modelsFrom = (env: Environment): Settings['models'] => ({
  names: env.AGENT_MODELS,
  anthropic:
    env.ANTHROPIC_API_KEY === undefined
      ? null
      : { apiKey: env.ANTHROPIC_API_KEY, baseUrl: withoutSlash(env.ANTHROPIC_BASE_URL) },
  openAiCompatible:
    env.OPENAI_COMPATIBLE_URL === undefined
      ? null
      : { apiKey: env.OPENAI_COMPATIBLE_API_KEY ?? null, baseUrl: withoutSlash(env.OPENAI_COMPATIBLE_URL) },
});

function oidcFrom(env: Environment): Settings['oidc'] {
  const client =
    env.OIDC_CLIENT_ID === undefined
      ? null
      : { id: env.OIDC_CLIENT_ID, secret: env.OIDC_CLIENT_SECRET ?? null };
  const {
    OIDC_ISSUER: issuer,
    OIDC_AUDIENCE: audience,
    OIDC_JWKS_URI: jwksUri,
    OIDC_USERINFO_URI: userinfoUri = null,
  } = env;
  return issuer !== undefined && audience !== undefined && jwksUri !== undefined
    ? { issuer, audience, jwksUri, userinfoUri, client }
    : null;
}

const hostName = (host: string): string => (host.includes(':') ? `[${host}]` : host);
const publicUrlFrom = (env: Environment): string =>
  withoutSlash(env.PUBLIC_URL ?? `http://${hostName(env.HOST)}:${env.PORT}`);

const signInFrom = (env: Environment): Settings['signIn'] => ({
  byMail: env.SIGN_IN_BY_MAIL !== 'false',
  byLink:
    env.NODE_ENV !== 'production' && isLoopbackName(hostName(env.HOST)) && isLoopbackHttp(publicUrlFrom(env)),
});

const derivedFrom = (env: Environment): DerivedSettings => ({
  production: env.NODE_ENV === 'production',
  publicUrl: publicUrlFrom(env),
  ownUrl: `http://127.0.0.1:${env.PORT}`,
  mail: { outboxFolder: path.join(env.DATA_DIR, 'outbox') },
  models: modelsFrom(env),
  sandbox: { allowed: env.SANDBOX_PAYMENTS ?? env.NODE_ENV !== 'production' },
  sync: { renewMs: env.SYNC_LEASE_SECONDS * 250 },
  signIn: signInFrom(env),
  oidc: oidcFrom(env),
});

/**
 * Throws BadEnvironment with all problems. Empty values count as absent, as in an .env file that lists all
 * names.
 */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value === undefined || value.trim() === '' ? [] : [[name, value.trim()]],
    ),
  );
  const parsed = z.object(schemas).safeParse(given);
  const invalid = parsed.error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];
  const problems = [...invalid, ...crossChecks(given)];
  if (!parsed.success || problems.length > 0) throw new BadEnvironment(problems);
  const env = parsed.data as Environment;
  return { ...env, settings: settingsFrom(declaredSettings, env, derivedFrom(env)) as Settings };
}

/** What is allowed and probably a mistake, for the log. */
export const warningsAbout = ({ TRUST_PROXY }: Config): string[] =>
  TRUST_PROXY === true
    ? [
        'TRUST_PROXY=true believes every X-Forwarded-For header: callers can choose the address that is logged and limited',
      ]
    : [];

/** The text of .env.example: every variable with its description and default. */
export const environmentExample = (): string =>
  variables.reduce((example, { name, fallback, description }) => {
    const comment = description.map((line) => `# ${line}\n`).join('');
    return `${example}${comment === '' ? '' : `\n${comment}`}${name}=${fallback}\n`;
  }, '# Every variable that the service reads. Copy this file to .env and set what you need; an empty value counts as unset.\n');
