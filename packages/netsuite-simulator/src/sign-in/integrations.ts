// Integration records and their certificates: what an administrator sets up in NetSuite for a service that
// signs in by certificate.
import { randomBytes, X509Certificate } from 'node:crypto';
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';

export type KnownCertificate = { clientId: string; pem: string; notAfter: Date; revoked: boolean };
export type ListedCertificate = {
  certificateId: string;
  createdAt: Date;
  notAfter: Date;
  revokedAt: Date | null;
};
export type ListedIntegration = {
  clientId: string;
  name: string;
  createdAt: Date;
  certificates: ListedCertificate[];
};
export type Integrations = {
  /** All integrations with all their certificates, oldest first. */
  list(): Promise<ListedIntegration[]>;
  create(name: string): Promise<{ clientId: string }>;
  /**
   * Rejects with RangeError for an unknown client id, an unacceptable certificate, or a sixth active
   * certificate.
   */
  uploadCertificate(clientId: string, certificatePem: string): Promise<{ certificateId: string }>;
  /** Rejects with RangeError for an unknown id. */
  revokeCertificate(certificateId: string): Promise<void>;
  /** Resolves to how many there were. */
  revokeAllCertificates(): Promise<number>;
  findCertificate(certificateId: string): Promise<KnownCertificate | undefined>;
  exists(clientId: string): Promise<boolean>;
};

const MIN_RSA_BITS = 3072;
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1'];
const MAX_ACTIVE_CERTIFICATES = 5;

/**
 * `uploadCertificate` and `revokeCertificate` reject with RangeError for what NetSuite wouldn't accept or
 * doesn't know.
 */
export function createIntegrations(pool: Pool, clock: Clock): Integrations {
  const exists = async (clientId: string): Promise<boolean> =>
    (await pool.query('SELECT 1 FROM setup.integration WHERE client_id = $1', [clientId])).rows.length > 0;
  return {
    exists,
    list: () => listIntegrations(pool),
    async create(name) {
      const clientId = randomBytes(32).toString('hex');
      await pool.query('INSERT INTO setup.integration (client_id, name, created_at) VALUES ($1, $2, $3)', [
        clientId,
        name,
        clock.now(),
      ]);
      return { clientId };
    },
    async uploadCertificate(clientId, certificatePem) {
      if (!(await exists(clientId)))
        throw new RangeError('The account has no integration with this client id.');
      return storeCertificate(pool, clock.now(), clientId, certificatePem);
    },
    async revokeCertificate(certificateId) {
      const { rowCount } = await pool.query(
        'UPDATE setup.certificate SET revoked_at = COALESCE(revoked_at, $2) WHERE certificate_id = $1',
        [certificateId, clock.now()],
      );
      if (rowCount === 0) throw new RangeError('The account has no certificate with this id.');
    },
    async revokeAllCertificates() {
      const { rowCount } = await pool.query(
        'UPDATE setup.certificate SET revoked_at = $1 WHERE revoked_at IS NULL',
        [clock.now()],
      );
      return rowCount ?? 0;
    },
    findCertificate: (certificateId) => findCertificate(pool, certificateId),
  };
}

async function storeCertificate(pool: Pool, now: Date, clientId: string, certificatePem: string) {
  const certificate = parseValidCertificate(certificatePem, now);
  const { rows } = await pool.query<{ count: string }>(
    `SELECT count(*) FROM setup.certificate
    WHERE client_id = $1 AND revoked_at IS NULL AND not_after > $2`,
    [clientId, now],
  );
  if (Number(rows[0]?.count) >= MAX_ACTIVE_CERTIFICATES) {
    throw new RangeError(
      `An integration may have at most ${MAX_ACTIVE_CERTIFICATES} active certificates. Revoke one first.`,
    );
  }
  const certificateId = randomBytes(32).toString('base64url');
  await pool.query(
    'INSERT INTO setup.certificate (certificate_id, client_id, pem, not_after, created_at) VALUES ($1, $2, $3, $4, $5)',
    [certificateId, clientId, certificate.toString(), new Date(certificate.validTo), now],
  );
  return { certificateId };
}

async function findCertificate(pool: Pool, certificateId: string): Promise<KnownCertificate | undefined> {
  const { rows } = await pool.query<{
    client_id: string;
    pem: string;
    not_after: Date;
    revoked_at: Date | null;
  }>('SELECT client_id, pem, not_after, revoked_at FROM setup.certificate WHERE certificate_id = $1', [
    certificateId,
  ]);
  const row = rows[0];
  return (
    row && {
      clientId: row.client_id,
      pem: row.pem,
      notAfter: row.not_after,
      revoked: row.revoked_at !== null,
    }
  );
}

async function listIntegrations(pool: Pool): Promise<ListedIntegration[]> {
  const { rows: integrations } = await pool.query<Omit<ListedIntegration, 'certificates'>>(
    'SELECT client_id AS "clientId", name, created_at AS "createdAt" FROM setup.integration ORDER BY created_at, client_id',
  );
  const { rows: certificates } = await pool.query<ListedCertificate & { clientId: string }>(
    `SELECT client_id AS "clientId", certificate_id AS "certificateId", created_at AS "createdAt", not_after AS "notAfter",
      revoked_at AS "revokedAt" FROM setup.certificate ORDER BY created_at, certificate_id`,
  );
  return integrations.map((integration) => ({
    ...integration,
    certificates: certificates
      .filter(({ clientId }) => clientId === integration.clientId)
      .map(({ clientId: _, ...certificate }) => certificate),
  }));
}

/**
 * Throws RangeError unless it has an RSA key of at least 3072 bits or one of three curves, has not expired,
 * and is valid for at most two years.
 */
function parseValidCertificate(pem: string, now: Date): X509Certificate {
  const certificate = parseCertificate(pem);
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
  const isStrong =
    type === 'rsa'
      ? (details?.modulusLength ?? 0) >= MIN_RSA_BITS
      : type === 'ec' && CURVES.includes(details?.namedCurve ?? '');
  if (!isStrong)
    throw new RangeError(
      'A certificate must have an RSA key of at least 3072 bits, or a key on the curve P-256, P-384 or P-521.',
    );
  const [from, to] = [new Date(certificate.validFrom), new Date(certificate.validTo)];
  if (to <= now) throw new RangeError('The certificate has expired.');
  const twoYearsOn = new Date(from);
  twoYearsOn.setUTCFullYear(from.getUTCFullYear() + 2);
  if (to > twoYearsOn) throw new RangeError('A certificate may be valid for at most two years.');
  return certificate;
}

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new RangeError('This is not an X.509 certificate in PEM.', { cause: error });
  }
}
