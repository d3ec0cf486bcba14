// Credentials that an administrator creates for a service that signs in by token: an integration's consumer
// key and secret, its user's token id and secret. Stored in the account's database and cached in memory while
// the account runs.
import { randomBytes } from 'node:crypto';
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';

export type TokenCredentials = {
  consumerKey: string;
  consumerSecret: string;
  tokenId: string;
  tokenSecret: string;
};
export type KnownToken = TokenCredentials & {
  name: string;
  isRevoked: boolean;
  isIntegrationEnabled: boolean;
};
export type TokenCredentialsStore = {
  /** `fixed` replaces values that are otherwise random. */
  create(name: string, fixed?: Partial<TokenCredentials>): Promise<TokenCredentials>;
  /** Rejects with RangeError for an unknown id. */
  revoke(tokenId: string): Promise<void>;
  /**
   * Blocks or unblocks an integration: a blocked one's consumer key is refused. Rejects with RangeError for
   * an unknown key.
   */
  setIntegrationEnabled(consumerKey: string, isOn: boolean): Promise<void>;
  findToken(tokenId: string): KnownToken | undefined;
  hasConsumer(consumerKey: string): boolean;
};

type Row = {
  name: string;
  consumer_key: string;
  consumer_secret: string;
  token_id: string;
  token_secret: string;
  revoked: boolean;
  integration_on: boolean;
};

const random = (): string => randomBytes(32).toString('hex');

const toKnownToken = (row: Row): KnownToken => ({
  name: row.name,
  consumerKey: row.consumer_key,
  consumerSecret: row.consumer_secret,
  tokenId: row.token_id,
  tokenSecret: row.token_secret,
  isRevoked: row.revoked,
  isIntegrationEnabled: row.integration_on,
});

type Secrets = Pick<KnownToken, 'consumerKey' | 'consumerSecret' | 'tokenId' | 'tokenSecret'>;

async function insertToken(pool: Pool, token: Secrets, name: string, now: Date): Promise<void> {
  await pool.query(
    `INSERT INTO setup.token (token_id, token_secret, consumer_key, consumer_secret, name, created_at) VALUES ($1, $2, $3, $4, $5, $6)`,
    [token.tokenId, token.tokenSecret, token.consumerKey, token.consumerSecret, name, now],
  );
}

/** Loads all credentials. `revoke` and `setIntegrationEnabled` reject with RangeError for unknown values. */
export async function loadTokenCredentials(pool: Pool, clock: Clock): Promise<TokenCredentialsStore> {
  const { rows } = await pool.query<Row>(`SELECT name, consumer_key, consumer_secret, token_id, token_secret,
    revoked_at IS NOT NULL AS revoked, integration_on FROM setup.token`);
  const known = new Map(rows.map((row) => [row.token_id, toKnownToken(row)]));
  const ofConsumer = (consumerKey: string): KnownToken[] =>
    [...known.values()].filter((token) => token.consumerKey === consumerKey);
  return {
    async create(name, fixed = {}) {
      const created = {
        consumerKey: random(),
        consumerSecret: random(),
        tokenId: random(),
        tokenSecret: random(),
        ...fixed,
      };
      await insertToken(pool, created, name, clock.now());
      known.set(created.tokenId, { ...created, name, isRevoked: false, isIntegrationEnabled: true });
      return created;
    },
    async revoke(tokenId) {
      const token = known.get(tokenId);
      if (!token) throw new RangeError('The account has no token with this id.');
      await pool.query('UPDATE setup.token SET revoked_at = COALESCE(revoked_at, $2) WHERE token_id = $1', [
        tokenId,
        clock.now(),
      ]);
      token.isRevoked = true;
    },
    async setIntegrationEnabled(consumerKey, isOn) {
      const tokens = ofConsumer(consumerKey);
      if (tokens.length === 0) throw new RangeError('The account has no integration with this consumer key.');
      await pool.query('UPDATE setup.token SET integration_on = $2 WHERE consumer_key = $1', [
        consumerKey,
        isOn,
      ]);
      for (const token of tokens) token.isIntegrationEnabled = isOn;
    },
    findToken: (tokenId) => known.get(tokenId),
    hasConsumer: (consumerKey) => ofConsumer(consumerKey).length > 0,
  };
}
