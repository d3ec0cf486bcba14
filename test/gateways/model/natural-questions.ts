// What people ask first about the books, with the SQL that computes the answer. Written before the model
// could answer them, and not in its words. Tables: invoice, customer. Today is 2011-08-31.

export type NaturalQuestion = {
  readonly ask: string;
  /**
   * One text column. With `lists`, each row is a line of the answer, in this order; otherwise the answer must
   * say each row.
   */
  readonly sql: string;
  readonly lists: boolean;
};

const invoices = (select: string, where = 'true'): string => `select ${select} from invoice where ${where}`;
const says = (ask: string, sql: string): NaturalQuestion => ({ ask, sql, lists: false });
const lists = (ask: string, sql: string): NaturalQuestion => ({ ask, sql, lists: true });
/** The numbers of at most ten, which are all that a list shows; `says` counts all. */
const numbers = (where: string, order = 'f_trandate desc, id desc', limit = 10): string =>
  `select f_tranid from invoice where ${where} order by ${order} limit ${limit}`;
const perCustomer = (value: string, where: string, limit = 10): string =>
  `select l_entity || ': ' || ${value} from invoice where l_entity is not null and ${where} group by l_entity order by ${value} desc, l_entity limit ${limit}`;
const perMonth = (value: string, where = 'true'): string =>
  `select to_char(f_trandate, 'YYYY-MM') || ': ' || ${value} from invoice where ${where} group by to_char(f_trandate, 'YYYY-MM') order by 1`;

const count = 'count(*)';
const total = 'sum(f_foreigntotal)';
const due = 'sum(f_foreignamountunpaid)';
const unpaid = 'f_foreignamountunpaid > 0';
const overdue = `${unpaid} and f_duedate < '2011-08-31'`;
const of = (name: string): string => `l_entity = '${name}'`;
const on = (from: string, to: string): string => `f_trandate between '${from}' and '${to}'`;
const [july, august] = [on('2011-07-01', '2011-07-31'), on('2011-08-01', '2011-08-31')];

export const naturalQuestions: readonly NaturalQuestion[] = [
  says('Which invoices are unpaid?', invoices(count, unpaid)),
  says('How many unpaid invoices do we have?', invoices(count, unpaid)),
  lists('Show me all unpaid invoices', numbers(unpaid)),
  says('How much is unpaid?', invoices(due, unpaid)),
  says("What's the total of our unpaid invoices?", invoices(total, unpaid)),
  says('unpaid invoices over 1000', invoices(count, `${unpaid} and f_foreigntotal > 1000`)),
  says("Which invoices haven't been paid yet?", invoices(count, unpaid)),
  lists('List the unpaid invoices of Nordlicht GmbH', numbers(`${unpaid} and ${of('Nordlicht GmbH')}`)),
  says('How much money is outstanding?', invoices(due, unpaid)),
  says('How many invoices are paid?', invoices(count, 'f_foreignamountunpaid = 0')),

  says('Which invoices are overdue?', invoices(count, overdue)),
  says('How many overdue invoices are there?', invoices(count, overdue)),
  says('How much is overdue?', invoices(due, overdue)),
  lists('Show overdue invoices of Acme Ltd', numbers(`${overdue} and ${of('Acme Ltd')}`)),
  lists('Who has overdue invoices?', perCustomer(count, overdue)),
  says('What is our oldest unpaid invoice?', numbers(unpaid, 'f_trandate, id', 1)),
  lists('Which customers are overdue?', perCustomer(count, overdue)),
  lists("What's the largest overdue invoice?", numbers(overdue, 'f_foreigntotal desc', 1)),
  says(
    'Which invoices are due this month?',
    invoices(count, "f_duedate between '2011-08-01' and '2011-08-31'"),
  ),
  says(
    'Which invoices are more than 30 days overdue?',
    invoices(count, `${unpaid} and f_duedate < '2011-08-01'`),
  ),

  says('How much does Acme Ltd owe us?', invoices(due, of('Acme Ltd'))),
  says('What does Nordlicht owe?', invoices(due, of('Nordlicht GmbH'))),
  says('Who owes us the most?', perCustomer(due, unpaid, 1)),
  lists('Which customers owe us money?', perCustomer(due, unpaid)),
  says('How much are we owed?', invoices(due, unpaid)),
  lists(
    'Who owes us more than 3000?',
    `select l_entity || ': ' || ${due} from invoice where l_entity is not null group by l_entity having ${due} > 3000 order by ${due} desc`,
  ),
  says("What's the balance of Miller & Sons?", invoices(due, of('Miller & Sons'))),
  lists('Top 5 customers by amount due', perCustomer(due, 'true', 5)),
  says('How much does customer CUST17450 owe us?', invoices(due, of('CUST17450'))),
  says('Does Paper Moon owe us anything?', invoices(due, of('Paper Moon'))),

  lists('How much did we invoice per month?', perMonth(total)),
  lists('Total of invoices per month', perMonth(total)),
  lists('Invoices per month', perMonth(count)),
  lists('How many invoices per month since July 2011?', perMonth(count, "f_trandate >= '2011-07-01'")),
  says('What was our revenue in July 2011?', invoices(total, july)),
  lists('Revenue per month', perMonth(total)),
  lists('Sales by month this year', perMonth(total)),
  says('How much did we bill last month?', invoices(total, july)),
  lists('Average invoice total per month', perMonth('trim_scale(round(avg(f_foreigntotal), 6))')),
  says(
    'Which month had the highest revenue?',
    `select to_char(f_trandate, 'YYYY-MM') from invoice group by 1 order by ${total} desc limit 1`,
  ),

  lists('Who are our top 3 customers?', perCustomer(total, 'true', 3)),
  lists('Top 5 customers by revenue', perCustomer(total, 'true', 5)),
  says('Who is our biggest customer?', perCustomer(total, 'true', 1)),
  says('Which customer bought the most in August 2011?', perCustomer(total, august, 1)),
  lists('Top 10 invoices by total', numbers('true', 'f_foreigntotal desc')),
  lists('What are the 3 biggest invoices?', numbers('true', 'f_foreigntotal desc', 3)),
  lists('Top 3 customers by total in July 2011', perCustomer(total, july, 3)),
  says('Which customer has the most unpaid invoices?', perCustomer(count, unpaid, 1)),
  says('Total of invoices by customer', perCustomer(total, 'true', 8)),
  says('What is the total amount due per customer?', perCustomer(due, 'true', 8)),

  lists('Show invoices of Tin Soldier', numbers(of('Tin Soldier'))),
  says('How many invoices does Oak and Ivy have?', invoices(count, of('Oak and Ivy'))),
  says('Show customer C1004', "select f_companyname from customer where f_entityid = 'C1004'"),
  lists("What is Blue Door Trading's last invoice?", numbers(of('Blue Door Trading'), undefined, 1)),
  says('Invoices of CUST17450 in August 2011', invoices(count, `${of('CUST17450')} and ${august}`)),
  says('How much did we sell to Acme Ltd in 2011?', invoices(total, of('Acme Ltd'))),

  says(
    'Is 563614 paid?',
    invoices("case when f_foreignamountunpaid = 0 then 'Yes' else 'No' end", "f_tranid = '563614'"),
  ),
  says(
    'Is invoice 563503 overdue?',
    invoices(`case when ${overdue} then 'Yes' else 'No' end`, "f_tranid = '563503'"),
  ),
  says('When is 563614 due?', invoices('f_duedate::text', "f_tranid = '563614'")),
  says(
    'How much is left to pay on invoice 563614?',
    invoices('f_foreignamountunpaid::text', "f_tranid = '563614'"),
  ),
];

/** Near the questions above, but about something else: these must be declined or asked back. */
export const misleadingQuestions: readonly string[] = [
  'How many invoices were paid in August 2011?',
  'How many invoices were overdue in July 2011?',
  'How many invoices are unpaid or overdue?',
  'How many invoices are almost overdue?',
  'How many invoices will be overdue next week?',
  'How many invoices are not overdue?',
  'How much do we owe Acme Ltd?',
  'How much does Harbour owe us?',
  'How much does Acme Ltd or Paper Moon owe us?',
  'How much did Acme Ltd owe us in July 2011?',
  'How much does Umbrella owe us?',
  'Show invoices of Harbour',
  'Who owes us the least?',
  'Who paid the most?',
  'Who stopped buying?',
  'Who are our top 3 customers by margin?',
  'Who are our top 3 customers by number of lines?',
  'Which customers owe us nothing?',
  'Which customers never pay late?',
  'Which customer bought the most items?',
  'Which month had the lowest margin?',
  'Revenue per month per customer',
  'Revenue per month compared to last year',
  'Revenue growth per month',
  'Revenue per salesperson',
  'Profit per month',
  'How much did we invoice on average per month?',
  'How much did we buy from Acme Ltd?',
  'How much is overdue by more than a month?',
  'How much is not overdue?',
  'Is 563614 paid or overdue?',
  'Is 999999 paid?',
  'Is Acme Ltd paid?',
  'Is 563614 paid twice?',
  'When was 563614 paid?',
  'When is 563614 overdue?',
  'Are 563614 and 563615 paid?',
  'Which invoices are due?',
  'Unpaid customers',
  'Top customers except Acme Ltd',
  'Top 0 customers by revenue',
  'Total of invoices per month and customer',
];
