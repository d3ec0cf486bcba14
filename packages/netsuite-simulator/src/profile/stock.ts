// Stock by item and location: the sum of the quantities on lines that post to an inventory account. Triggers
// keep it up to date, whichever way a line is written: by a held-back day, the record service or the control
// interface.

/** Created with the other base tables; see list-tables.ts. */
export const STOCK_TABLE = `CREATE TABLE ledger.stock (item bigint, location bigint, quantity numeric NOT NULL, changedat timestamptz NOT NULL,
  PRIMARY KEY (item, location))`;

/** SQL of the movements on the lines of `from`: rows of (item, location, quantity, at). */
const movements = (
  from: string,
  sign: '' | '-',
): string => `SELECT l.item, l.location, ${sign}l.quantity, l.linelastmodifieddate FROM ${from} l
  WHERE l.item IS NOT NULL AND l.location IS NOT NULL AND l.quantity <> 0 AND l.account IN (SELECT id FROM ledger.account WHERE inventory = 'T')`;

/** Adds the movements of these sources to the stock, and to the total of each item. */
const move = (...sources: readonly string[]): string => `
  WITH moved AS (
    SELECT item, location, sum(quantity) AS quantity, max(at) AS at FROM (${sources.join(' UNION ALL ')}) m(item, location, quantity, at)
    GROUP BY item, location
  ), stocked AS (
    INSERT INTO ledger.stock AS s (item, location, quantity, changedat) SELECT item, location, quantity, at FROM moved
    ON CONFLICT (item, location) DO UPDATE SET quantity = s.quantity + EXCLUDED.quantity, changedat = GREATEST(s.changedat, EXCLUDED.changedat)
  )
  UPDATE ledger.item i SET totalquantityonhand = COALESCE(i.totalquantityonhand, 0) + t.quantity
  FROM (SELECT item, sum(quantity) AS quantity FROM moved GROUP BY item) t WHERE t.item = i.id`;

const trigger = (event: string, referencing: string): string =>
  `CREATE TRIGGER stock_after_${event.toLowerCase()} AFTER ${event} ON ledger.transactionline REFERENCING ${referencing}
   FOR EACH STATEMENT EXECUTE FUNCTION ledger.move_stock()`;

/** Run once the books are complete; later changes of lines are followed by the triggers. */
export const STOCK_STATEMENTS: readonly string[] = [
  move(movements('ledger.transactionline', '')),
  `CREATE FUNCTION ledger.move_stock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
   IF TG_OP = 'INSERT' THEN ${move(movements('added', ''))};
   ELSIF TG_OP = 'DELETE' THEN ${move(movements('removed', '-'))};
   ELSE ${move(movements('added', ''), movements('removed', '-'))};
   END IF;
   RETURN NULL; END $$`,
  trigger('INSERT', 'NEW TABLE AS added'),
  trigger('DELETE', 'OLD TABLE AS removed'),
  trigger('UPDATE', 'NEW TABLE AS added OLD TABLE AS removed'),
];
