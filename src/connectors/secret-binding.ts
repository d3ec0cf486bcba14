// What ties a stored secret of a connection to the place where it is stored.

/** The name of the connection that the management interface's `/netsuite` addresses. */
export const netsuiteName = 'netsuite';

/**
 * The AAD that ties a secret to its organization, connection and purpose: copied elsewhere, it does not decrypt. That of
 * the connection called `netsuite` is from when there was no other.
 */
export const secretBinding = (
  organizationId: string,
  connection: string,
  purpose: 'erp-secrets' | 'erp-private-key-1' | 'erp-private-key-2',
): string =>
  connection === netsuiteName
    ? `${organizationId}/${purpose}`
    : `${organizationId}/connections/${connection}/${purpose}`;
