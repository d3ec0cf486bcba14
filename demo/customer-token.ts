// A token for one customer of the demo's wholesaler, as a company's backend mints them: it reads that
// customer's records alone.
import { z } from 'zod';
import type { DemoFile } from './keys.ts';
import { createManagementClient, ManagementApiError } from './management-client.ts';

export type CustomerToken = {
  readonly token: string;
  readonly customerId: string;
  readonly customerName: string;
};

const Invoices = z.object({ data: z.array(z.object({ customerId: z.string(), customerName: z.string() })) });
const Minted = z.object({ tokens: z.array(z.object({ token: z.string() })) });
const Caller = z.object({ credential: z.object({ id: z.string() }) });

type Site = Pick<DemoFile, 'tenantId' | 'apiKey' | 'version'> & { readonly url: string };

/**
 * Mints a token of an hour for the customer who owes the most. Undefined when no customer owes anything, and
 * when the version has no such resources, fields or scopable fields, or masks them: people publish their own
 * versions in the demo. Throws ManagementApiError, and an Error when the service can't read the invoices.
 */
export async function mintCustomerToken({
  url,
  tenantId,
  apiKey,
  version,
}: Site): Promise<CustomerToken | undefined> {
  const query =
    'customerId_null=false&amountDue_gt=0&sort=amountDue&order=desc&pageSize=1&fields=customerId,customerName';
  const response = await fetch(`${url}/api/public/${version}/invoices?${query}`, {
    headers: { authorization: `Bearer ${apiKey}`, 'x-tenant-id': tenantId },
  });
  if ([400, 403, 404].includes(response.status)) return undefined;
  if (!response.ok)
    throw new Error(`The demo could not read its invoices: ${response.status} ${await response.text()}`);
  const [invoice] = Invoices.parse(await response.json()).data;
  if (invoice === undefined) return undefined;
  const call = createManagementClient(url, apiKey);
  const { credential } = await call('GET', '/whoami', Caller);
  const own = [{ field: 'customerId', in: [invoice.customerId] }];
  const rows = { invoices: own, 'credit-memos': own, customers: [{ field: 'id', in: [invoice.customerId] }] };
  const token = { subject: `customer:${invoice.customerId}`, expiresInSeconds: 3600, scopes: { rows } };
  try {
    const { tokens } = await call('POST', `/api-keys/${credential.id}/tokens`, Minted, { tokens: [token] });
    return tokens[0] && { token: tokens[0].token, ...invoice };
  } catch (error) {
    if (error instanceof ManagementApiError && error.status === 422) return undefined;
    throw error;
  }
}
