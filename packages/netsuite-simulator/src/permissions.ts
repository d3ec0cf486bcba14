// The permissions of the integration's role, which the control interface sets. The error of a missing
// permission that callers see is *assumed* except for tables that the role can't see.
import type { RequestHandler } from 'express';
import { invalidLogin } from './sign-in/invalid-login.ts';
import { TOKEN_PATH } from './sign-in/token-endpoint.ts';
import { CUSTOM_LISTS, CUSTOM_RECORD_TYPES } from './tables/custom-records.ts';
import type { Access } from './tables/role-restrictions.ts';
import type { RoleVisibility } from './tables/role-visibility.ts';
import { RestError, sendJsonBody } from './wire.ts';

/** A permission's key → NetSuite's name for it, and the tables that it shows. */
export const PERMISSIONS = {
  logIn: { title: 'Log in using OAuth 2.0 Access Tokens', tables: [] },
  restWebServices: { title: 'REST Web Services', tables: [] },
  suiteAnalyticsWorkbook: { title: 'SuiteAnalytics Workbook', tables: [] },
  recordsCatalog: { title: 'Records Catalog', tables: [] },
  deletedRecords: { title: 'Deleted Records', tables: ['deletedrecord'] },
  customFields: { title: 'Custom Fields', tables: ['customfield'] },
  customers: {
    title: 'Customers',
    tables: [
      'customer',
      'customersubsidiaryrelationship',
      'customeraddressbook',
      'customeraddressbookentityaddress',
    ],
  },
  items: { title: 'Items', tables: ['item', 'itemprice', 'pricing', 'inventoryitemlocations'] },
  transactions: {
    title: 'Transactions',
    tables: [
      ...[
        'transaction',
        'transactionline',
        'transactionstatus',
        'nexttransactionlinelink',
        'previoustransactionlinelink',
      ],
      ...['transactionaccountingline', 'transactionbillingaddress', 'transactionshippingaddress'],
    ],
  },
  vendors: {
    title: 'Vendors',
    tables: ['vendor', 'vendorsubsidiaryrelationship', 'vendoraddressbook', 'vendoraddressbookentityaddress'],
  },
  employees: { title: 'Employees', tables: ['employee'] },
  contacts: { title: 'Contacts', tables: ['contact'] },
  partners: { title: 'Partners', tables: ['partner'] },
  currencies: { title: 'Currency', tables: ['currency', 'currencyrate', 'consolidatedexchangerate'] },
  subsidiaries: { title: 'Subsidiaries', tables: ['subsidiary', 'subsidiarymainaddress'] },
  accounts: { title: 'Accounts', tables: ['account', 'accounttype'] },
  accountingPeriods: { title: 'Manage Accounting Periods', tables: ['accountingperiod'] },
  accountingBooks: { title: 'Accounting Book', tables: ['accountingbook'] },
  accountingLists: {
    title: 'Accounting Lists',
    tables: [
      'term',
      'paymentmethod',
      'pricelevel',
      'customercategory',
      'vendorcategory',
      'unitstype',
      'unitstypeuom',
    ],
  },
  taxes: { title: 'Tax Codes', tables: ['salestaxitem', 'taxtype', 'nexus'] },
  departments: { title: 'Departments', tables: ['department'] },
  classes: { title: 'Classes', tables: ['classification'] },
  locations: { title: 'Locations', tables: ['location', 'locationmainaddress'] },
  customRecords: {
    title: 'Custom Record Entries',
    tables: ['customrecordtype', ...CUSTOM_RECORD_TYPES.map(({ name }) => name)],
  },
  customLists: { title: 'Custom Lists', tables: ['customlist', ...CUSTOM_LISTS.map(({ name }) => name)] },
} as const satisfies Record<string, { title: string; tables: readonly string[] }>;
export type PermissionKey = keyof typeof PERMISSIONS;
export const PERMISSION_KEYS = Object.keys(PERMISSIONS) as PermissionKey[];

export type Permissions = {
  /** Throws RestError for a call that the role may not make. */
  handler: RequestHandler;
  get(): Readonly<Record<PermissionKey, Access>>;
  /** Replaces all of them; one that isn't given is `full`. */
  set(wanted: Partial<Record<PermissionKey, Access>>): void;
};

const ALL = Object.fromEntries(PERMISSION_KEYS.map((key) => [key, 'full'])) as Record<PermissionKey, Access>;

/** The handler throws RestError 401 or 403; see Permissions. */
export function createPermissions(role: RoleVisibility): Permissions {
  let granted: Readonly<Record<PermissionKey, Access>> = ALL;
  const isMissing = (key: PermissionKey): boolean => granted[key] === 'none';
  return {
    handler({ path, baseUrl }, response, next) {
      const called = `${baseUrl}${path}`;
      if (isMissing('logIn')) {
        if (called === TOKEN_PATH)
          return sendJsonBody(response, 400, 'application/json; charset=UTF-8', { error: 'invalid_grant' });
        throw invalidLogin('permission_denied: the role may not log in using access tokens', {});
      }
      if (called !== TOKEN_PATH && isMissing('restWebServices')) throw missing('restWebServices');
      if (called.includes('/query/') && isMissing('suiteAnalyticsWorkbook'))
        throw missing('suiteAnalyticsWorkbook');
      if (called.includes('/metadata-catalog') && isMissing('recordsCatalog'))
        throw missing('recordsCatalog');
      next();
    },
    get: () => granted,
    set(wanted) {
      granted = { ...ALL, ...wanted };
      role.setAccess(
        new Map(
          PERMISSION_KEYS.flatMap((key) =>
            PERMISSIONS[key].tables.map((table) => [table, granted[key]] as const),
          ),
        ),
      );
    },
  };
}

const missing = (key: PermissionKey): RestError =>
  new RestError(403, {
    detail: `Permission Violation: You need the '${PERMISSIONS[key].title}' permission to access this page.`,
    'o:errorCode': 'INSUFFICIENT_PERMISSION',
  });
