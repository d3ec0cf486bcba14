// Names of mailboxes that belong to a role and not to a person, as companies usually call them.

const names = `
  info office accounts accounting accountspayable accountsreceivable accounts.payable ap ar billing invoice invoices
  sales contact mail email post hello hi admin administration finance purchasing procurement orders order support
  service services team enquiries inquiries reception payables receivables bookkeeping payments purchase-orders
  kontakt buchhaltung rechnung rechnungen rechnungswesen finanzen vertrieb verkauf einkauf verwaltung zentrale
  bestellung bestellungen buero empfang sekretariat hallo kreditoren debitoren
  compta comptabilite facture factures facturation achats ventes accueil commande commandes bonjour secretariat
  direction finances fournisseurs
  contacto administracion contabilidad factura facturas facturacion ventas compras correo hola pedidos finanzas
  recepcion oficina proveedores pagos
  administratie boekhouding factuur facturen inkoop verkoop debiteuren crediteuren welkom bestellingen receptie
  financien financieel
`;
const known = new Set(names.trim().split(/\s+/));

/** Of an address as `normalizeEmail` writes it. What follows a plus is a label of the reader. */
export const isSharedMailbox = (address: string): boolean =>
  known.has(address.slice(0, address.lastIndexOf('@')).replace(/\+.*$/, ''));
