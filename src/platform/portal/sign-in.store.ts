// The row of portal_sign_in of an organization that has an identity provider for its visitors.
import type { Tx } from '../../db/transaction.ts';

export type SignInRow = {
  readonly issuer: string;
  readonly client_id: string;
  /** Encrypted. */
  readonly client_secret: string | null;
  readonly label: string | null;
  readonly updated_at: Date;
};

export const findSignIn = async (tx: Tx, organizationId: string): Promise<SignInRow | undefined> =>
  tx('portal_sign_in')
    .where('organization_id', organizationId)
    .first<SignInRow | undefined>('issuer', 'client_id', 'client_secret', 'label', 'updated_at');

export const saveSignIn = (tx: Tx, organizationId: string, row: Omit<SignInRow, 'updated_at'>) =>
  tx('portal_sign_in')
    .insert({ organization_id: organizationId, ...row, updated_at: tx.fn.now() })
    .onConflict('organization_id')
    .merge();

export const deleteSignIn = (tx: Tx, organizationId: string): Promise<number> =>
  tx('portal_sign_in').where('organization_id', organizationId).delete();

/** The verified primary domain. */
export const findPrimaryHostname = async (tx: Tx, organizationId: string): Promise<string | undefined> =>
  (
    await tx('domains')
      .where({ organization_id: organizationId, is_primary: true, status: 'verified' })
      .first<{ hostname: string } | undefined>('hostname')
  )?.hostname;
