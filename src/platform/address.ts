/** Where the management interface begins, on this service's address. */
export const platformBase = '/api/platform/v1';
