import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BadEnvironment, readConfig, warningsAbout } from '../../src/config.ts';

const key = (id = 'k1') => `${id}:${randomBytes(32).toString('base64')}`;
const good = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgres://portal@db/portal',
  ENCRYPTION_KEY: key(),
  PUBLIC_URL: 'https://portal.example.org/',
};
const listProblems = (environment: Record<string, string>): string[] => {
  try {
    readConfig(environment);
  } catch (error) {
    if (!(error instanceof BadEnvironment)) throw error;
    return error.message
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(':', 1)[0] ?? '');
  }
  return [];
};

describe('readConfig', () => {
  it('has defaults for everything outside production', () => {
    const config = readConfig({});
    expect(config.settings).toMatchObject({
      publicUrl: 'http://127.0.0.1:8080',
      production: false,
      rateLimitPerMinute: 60,
      oidc: null,
    });
  });

  it('has the defaults of syncs that are documented', () => {
    const { erp, sync } = readConfig({}).settings;
    expect(erp).toMatchObject({ concurrency: 2, requestTimeoutMs: 120_000 });
    expect(sync).toMatchObject({
      leaseMs: 60_000,
      renewMs: 15_000,
      retryBaseMs: 10_000,
      retryMaxMs: 1_800_000,
      maxAttemptsWithoutProgress: 5,
      pageSize: 1_000,
      overlapMs: 600_000,
      settleMs: 300_000,
      recentlyClosedDays: 7,
      fullReadDays: 7,
    });
    const set = {
      SYNC_LEASE_SECONDS: '20',
      ERP_CONCURRENCY: '4',
      SYNC_RECENTLY_CLOSED_DAYS: '3',
      SYNC_FULL_READ_DAYS: '14',
    };
    expect(readConfig(set).settings).toMatchObject({
      erp: { concurrency: 4 },
      sync: { leaseMs: 20_000, renewMs: 5_000, recentlyClosedDays: 3, fullReadDays: 14 },
    });
  });

  it('rejects URLs of which only a part would be used, or that match nothing', () => {
    expect(listProblems({ PUBLIC_URL: 'https://portal.example.org/api?x=1' })).toEqual(['PUBLIC_URL']);
    expect(listProblems({ CORS_ORIGINS: 'https://shop.example,*' })).toEqual(['CORS_ORIGINS']);
    expect(listProblems({ WAREHOUSE_URL: 'postgres://portal@db/portal' })).toEqual(['WAREHOUSE_URL']);
    expect(listProblems({ MIGRATION_DATABASE_URL: 'postgres://portal@db/portal' })).toEqual([
      'MIGRATION_DATABASE_URL',
    ]);
    expect(readConfig({ CORS_ORIGINS: 'https://shop.example' }).settings.corsOrigins).toEqual([
      'https://shop.example',
    ]);
  });

  it.each([
    'postgres://portal:secret@db/portal',
    'postgresql://portal@db.internal:5432/portal?sslmode=verify-full',
    'postgres://portal:p%40ss%23w%2Frd%3A@[2001:db8::1]:5433/portal',
    'postgres://portal:secret@/portal?host=/var/run/postgresql&port=5433',
    'postgres:///portal?host=%2Fvar%2Frun%2Fpostgresql',
    'postgres://portal:secret@db1:5432,db2:5433/portal?target_session_attrs=read-write',
    'postgres://portal:secret@[::1]:5432,db2/portal?target_session_attrs=primary&sslmode=require',
    'postgres://portal:secret@/portal?host=db1,db2&port=5432,5433&target_session_attrs=read-write',
  ])('accepts the address %s', (DATABASE_URL) => {
    expect(readConfig({ ...good, DATABASE_URL }).DATABASE_URL).toBe(DATABASE_URL);
  });

  it.each([
    ['postgres://portal:pa#ss@db/portal', 'contains a # that is not percent-encoded'],
    ['postgres://portal:12/34@db/portal', 'must be postgres://user:password@host:port/database'],
    ['postgres://portal:12?34@db/portal', 'must be postgres://user:password@host:port/database'],
    ['postgres://portal:secret@db:port/portal', 'must be postgres://user:password@host:port/database'],
    ['postgres://portal:secret@db:70000/portal', 'must be postgres://user:password@host:port/database'],
    ['postgres://portal:secret@[::1/portal', 'must be postgres://user:password@host:port/database'],
    ['postgres://portal:secret@[1:2]:5432/portal', 'must be postgres://user:password@host:port/database'],
    ['postgres://portal:secret@<host>:5432/portal', 'must be postgres://user:password@host:port/database'],
    [
      'postgres://portal:secret@db/portal,postgress://portal:secret@db2/portal',
      'must be postgres://user:password@host:port/database',
    ],
    ['postgres://portal:secret%fa@db/portal', 'contains a % that is not percent-encoded'],
    ['postgres://portal:secret@%ff/portal', 'contains a % that is not percent-encoded'],
    ['mysql://portal:secret@db/portal', 'must be postgres://user:password@host:port/database'],
    ['postgres://portal:secret@db1,db2/portal', 'must have target_session_attrs=read-write or primary'],
    [
      'postgres://portal:secret@db1,db2/portal?target_session_attrs=any',
      'must have target_session_attrs=read-write or primary',
    ],
    [
      'postgres://portal:secret@db/portal?target_session_attrs=standby',
      'must have target_session_attrs=read-write or primary',
    ],
    ['postgres://portal:secret@db/portal?target_session_attrs=master', 'has an unknown target_session_attrs'],
    [
      'postgres://portal:secret@/portal?host=db1,db2,db3&port=1,2&target_session_attrs=primary',
      'must be postgres://user',
    ],
  ])('rejects the address %s, by the name of its variable and without the password', (address, problem) => {
    const isForWriting = problem.includes('read-write or primary');
    for (const variable of [
      'DATABASE_URL',
      'MIGRATION_DATABASE_URL',
      'WAREHOUSE_URL',
      ...(isForWriting ? [] : ['READ_URL']),
    ]) {
      const read = () => readConfig({ ...good, [variable]: address });
      expect(read).toThrow(`${variable}: ${problem}`);
      expect(read).not.toThrow(/secret|pa#ss|12.34/);
    }
  });

  it('accepts several replicas, each with several hosts', () => {
    const [one, other] = [
      'postgres://portal:secret@db1/portal',
      'postgres://portal:secret@db2,db3:5433/portal',
    ];
    expect(readConfig({ ...good, READ_URL: `${one} , ${other},` }).READ_URL).toEqual([one, other]);
  });

  it('accepts models whose provider is configured, the default first', () => {
    const models = 'openai-compatible/qwen/3, anthropic/some-model';
    expect(listProblems({ AGENT_MODELS: models })).toEqual(['AGENT_MODELS', 'AGENT_MODELS']);
    expect(listProblems({ AGENT_MODELS: 'gpt' })).toEqual(['AGENT_MODELS']);
    expect(listProblems({ OPENAI_COMPATIBLE_API_KEY: 'x' })).toEqual(['OPENAI_COMPATIBLE_API_KEY']);
    const reached = {
      AGENT_MODELS: models,
      ANTHROPIC_API_KEY: 'k',
      OPENAI_COMPATIBLE_URL: 'http://127.0.0.1:11434/v1/',
    };
    expect(readConfig(reached).settings.models).toEqual({
      names: ['openai-compatible/qwen/3', 'anthropic/some-model'],
      anthropic: { apiKey: 'k', baseUrl: 'https://api.anthropic.com/v1' },
      openAiCompatible: { apiKey: null, baseUrl: 'http://127.0.0.1:11434/v1' },
    });
  });

  it('lets people sign in by mail where no second factor is passed by and mails are delivered', () => {
    const provider = {
      OIDC_ISSUER: 'https://id.example.org',
      OIDC_AUDIENCE: 'portal',
      OIDC_JWKS_URI: 'https://id.example.org/jwks',
    };
    for (const [given, problems] of [
      [{ SIGN_IN_BY_MAIL: 'true' }, []],
      [{ SIGN_IN_BY_MAIL: 'yes' }, ['SIGN_IN_BY_MAIL']],
      [{ ...provider, SIGN_IN_BY_MAIL: 'true' }, ['SIGN_IN_BY_MAIL']],
      [{ ...provider, SIGN_IN_BY_MAIL: 'with-provider' }, []],
      [{ SIGN_IN_BY_MAIL: 'with-provider' }, ['SIGN_IN_BY_MAIL']],
      [{ ...good, SMTP_URL: '', SIGN_IN_BY_MAIL: 'true' }, ['SIGN_IN_BY_MAIL']],
      [{ ...good, SMTP_URL: 'smtps://mail.example.org', SIGN_IN_BY_MAIL: 'true' }, []],
    ] as const)
      expect([given, listProblems(given)]).toEqual([given, problems]);
  });

  it.each([
    [{}, true],
    [{ HOST: '::1' }, true],
    [{ PUBLIC_URL: 'http://localhost:8080' }, true],
    [{ HOST: '0.0.0.0' }, false],
    [{ PUBLIC_URL: 'https://portal.example.org' }, false],
    [{ PUBLIC_URL: 'http://192.168.1.2:8080' }, false],
    [{ ...good, PUBLIC_URL: 'http://127.0.0.1:8080' }, false],
  ])('prints sign-in links with %j: %j', (given, byLink) => {
    expect(readConfig(given).settings.signIn.byLink).toBe(byLink);
  });

  it('reports everything that is missing in production at once', () => {
    expect(listProblems({ NODE_ENV: 'production' })).toEqual([
      'DATABASE_URL',
      'ENCRYPTION_KEY',
      'PUBLIC_URL',
    ]);
    expect(readConfig(good).settings).toMatchObject({
      publicUrl: 'https://portal.example.org',
    });
  });

  it('forbids sandbox payments in production unless they are allowed explicitly', () => {
    const allowed = (given: Record<string, string>) => readConfig(given).settings.sandbox.allowed;
    expect([allowed({}), allowed({ SANDBOX_PAYMENTS: 'false' })]).toEqual([true, false]);
    expect([
      allowed(good),
      allowed({ ...good, SANDBOX_PAYMENTS: '' }),
      allowed({ ...good, SANDBOX_PAYMENTS: 'true' }),
    ]).toEqual([false, false, true]);
  });

  it('reports all problems at once, of every kind', () => {
    const problems = listProblems({
      NODE_ENV: 'production',
      PORT: '70000',
      LOG_LEVEL: 'loud',
      DATABASE_URL: 'mysql://x',
      ALLOW_PRIVATE_ERP_HOSTS: 'yes',
      OIDC_ISSUER: 'https://id.example.org',
    });
    expect(problems.sort()).toEqual(
      [
        'ALLOW_PRIVATE_ERP_HOSTS',
        'DATABASE_URL',
        'ENCRYPTION_KEY',
        'LOG_LEVEL',
        'OIDC_ISSUER, OIDC_AUDIENCE, OIDC_JWKS_URI',
        'PORT',
        'PUBLIC_URL',
      ].sort(),
    );
  });

  it.each([
    ['zeros', Buffer.alloc(32)],
    ['one letter', Buffer.alloc(32, 'a')],
    ['two letters', Buffer.alloc(32, 'ab')],
  ])('refuses a key of %s in production, wherever it stands in the list', (_name, bytes) => {
    const trivial = `k2:${bytes.toString('base64')}`;
    expect(listProblems({ ...good, ENCRYPTION_KEY: trivial })).toEqual(['ENCRYPTION_KEY']);
    expect(listProblems({ ...good, ENCRYPTION_KEY: `${key()},${trivial}` })).toEqual(['ENCRYPTION_KEY']);
    expect(listProblems({ ENCRYPTION_KEY: trivial })).toEqual([]);
  });

  it('refuses an identity provider that is reached without encryption, with and without a client', () => {
    const oidc = {
      OIDC_ISSUER: 'http://id.example.org',
      OIDC_AUDIENCE: 'portal',
      OIDC_JWKS_URI: 'https://id.example.org/jwks',
    };
    expect(listProblems(oidc)).toEqual(['OIDC_ISSUER']);
    expect(listProblems({ ...oidc, OIDC_CLIENT_ID: 'portal' })).toEqual(['OIDC_ISSUER']);
    expect(listProblems({ ...oidc, OIDC_ISSUER: 'http://127.0.0.1:9000' })).toEqual([]);
  });

  it('accepts a password for a mail server by smtp://, which is sent after STARTTLS only, and refuses other protocols', () => {
    for (const url of ['smtp://portal:secret@mail.example.org:587', 'smtps://portal:secret@mail.example.org'])
      expect(listProblems({ ...good, SMTP_URL: url })).toEqual([]);
    expect(listProblems({ ...good, SMTP_URL: 'telnet://portal:secret@mail.example.org' })).toEqual([
      'SMTP_URL',
    ]);
  });

  it('warns of trust in every proxy, and of nothing narrower', () => {
    const listWarnings = (value: string) => warningsAbout(readConfig({ ...good, TRUST_PROXY: value }));
    expect(listWarnings('true')).toEqual([expect.stringMatching(/^TRUST_PROXY=true /)]);
    for (const value of ['', 'false', '1', '10.0.0.0/8', 'loopback'])
      expect([value, listWarnings(value)]).toEqual([value, []]);
  });

  it('treats empty and blank values as absent', () => {
    expect(listProblems({ ...good, ENCRYPTION_KEY: '', PUBLIC_URL: '  ' })).toEqual([
      'ENCRYPTION_KEY',
      'PUBLIC_URL',
    ]);
    expect(readConfig({ PORT: '', DATABASE_URL: '', TRUST_PROXY: ' ' })).toEqual(readConfig({}));
  });

  it.each([
    ['PORT', '-1'],
    ['PORT', '80.5'],
    ['PORT', '0x50'],
    ['RATE_LIMIT_PER_MINUTE', '0'],
    ['SYNC_WORKERS', 'many'],
    ['ALLOW_PRIVATE_ERP_HOSTS', 'maybe'],
    ['PUBLIC_URL', 'portal.example.org'],
    ['PUBLIC_URL', 'javascript:alert(1)'],
    ['ENCRYPTION_KEY', randomBytes(32).toString('base64')],
    ['ENCRYPTION_KEY', `k1:${randomBytes(16).toString('base64')}`],
    ['ENCRYPTION_KEY', `${key('a')},${key('a')}`],
    ['TRUST_PROXY', 'nginx'],
    ['TRUST_PROXY', '10.0.0.0/40'],
    ['NODE_ENV', 'staging'],
    ['METRICS_PORT', '70000'],
    ['SHUTDOWN_DRAIN_SECONDS', '25'],
  ])('rejects %s=%s', (name, value) => expect(listProblems({ [name]: value })).toEqual([name]));

  it.each([
    ['true', true],
    ['false', false],
    ['2', 2],
    ['loopback, 10.0.0.0/8', 'loopback, 10.0.0.0/8'],
    ['::1', '::1'],
  ])('reads TRUST_PROXY=%s', (text, value) => {
    expect(readConfig({ TRUST_PROXY: text }).TRUST_PROXY).toBe(value);
  });

  it('never includes a secret in an error message', () => {
    try {
      readConfig({ ENCRYPTION_KEY: 'k1:hidden-value', DATABASE_URL: 'mysql://portal:hidden-value@db' });
      expect.unreachable();
    } catch (error) {
      expect(String(error)).not.toContain('hidden-value');
    }
  });

  it('keeps several keys, the current one first', () => {
    expect(
      readConfig({ ENCRYPTION_KEY: `${key('new')}, ${key('old')}` }).ENCRYPTION_KEY?.map(({ id }) => id),
    ).toEqual(['new', 'old']);
  });
});
