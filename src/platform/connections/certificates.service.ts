// Activates a certificate: which of the two slots is meant by an id that NetSuite assigned. Key pairs stay.
import type { RequestCtx } from '../../core/ctx.ts';
import { invalid } from '../../core/errors.ts';
import type { Tx } from '../../db/transaction.ts';
import * as store from './connections.store.ts';

const refusal = (code: string, title: string, message: string) =>
  invalid(title, [
    {
      path: `settings.authentication.${code === 'no_certificate' ? 'certificateId' : 'certificateSlot'}`,
      code,
      message,
    },
  ]);

const noCertificate = () =>
  refusal(
    'no_certificate',
    'There is no certificate for this id',
    'Create a certificate and upload it to NetSuite first',
  );

const label = ({ slot, certificate_id: id, active }: store.CertificateRow) =>
  `${slot} (${active ? 'active, ' : ''}id ${id})`;

/**
 * Which certificate an id means: the one that has it; otherwise the one that waits for an id; otherwise the
 * active one, whose certificate was uploaded again or whose id was mistyped. Throws 422
 * `certificate_ambiguous` when the certificate that isn't active is the newer one: then either may be meant,
 * and a wrong guess would overwrite the id of the other.
 */
function findMeant(rows: readonly store.CertificateRow[], certificateId: string) {
  const found =
    rows.find(({ certificate_id: id }) => id === certificateId) ??
    rows.find(({ certificate_id: id }) => id === null);
  if (found !== undefined) return found;
  const newest = rows.toSorted((a, b) => b.created_at.getTime() - a.created_at.getTime())[0];
  if (newest === undefined || newest.active) return newest;
  throw refusal(
    'certificate_ambiguous',
    'The id could belong to either certificate',
    `Send certificateSlot with the slot of the certificate that NetSuite shows under this id: ${rows.map(label).join(' or ')}`,
  );
}

/** `certificateSlot` decides which certificate an id belongs to, whatever id it had. */
export type CertificateChoice = {
  readonly certificateId: string | null;
  readonly certificateSlot?: number | undefined;
};

/**
 * Activates the certificate that is meant and returns its slot and id. Without an id the active certificate
 * stays; null when there is none. Throws 422 `no_certificate`, `certificate_ambiguous`, or
 * `certificate_id_needed` for a slot without an id.
 */
export async function activateCertificate(
  tx: Tx,
  ctx: RequestCtx,
  connection: string,
  { certificateId, certificateSlot }: CertificateChoice,
): Promise<{ slot: number; certificateId: string } | null> {
  const rows = await store.lockCertificates(tx, ctx.organizationId, connection);
  if (certificateId === null) {
    if (certificateSlot !== undefined)
      throw refusal(
        'certificate_id_needed',
        'The certificate id is missing',
        'Send certificateId together with certificateSlot',
      );
    const active = rows.find((row) => row.active);
    return active === undefined || active.certificate_id === null
      ? null
      : { slot: active.slot, certificateId: active.certificate_id };
  }
  const chosen =
    certificateSlot === undefined
      ? findMeant(rows, certificateId)
      : rows.find(({ slot }) => slot === certificateSlot);
  if (chosen === undefined) throw noCertificate();
  const activated = { slot: chosen.slot, certificateId };
  await store.activateCertificate(tx, ctx.organizationId, connection, activated);
  return activated;
}
