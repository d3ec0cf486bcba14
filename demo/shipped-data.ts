// The data that are shipped with the demo, and the account that they are of.
import { fileURLToPath } from 'node:url';

export const shippedData = fileURLToPath(new URL('./data', import.meta.url));
export const accountId = 'TSTDRV1234567';
