// Writes the files that a simulated account is loaded from.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

const headers = {
  customer: 'id,entityid,isperson,isinactive,currency,defaultcountry,datecreated,lastmodifieddate',
  item: 'id,itemid,displayname,itemtype,isinactive,createddate,lastmodifieddate',
  transaction:
    'id,tranid,type,trandate,entity,currency,exchangerate,posting,foreigntotal,createddate,lastmodifieddate',
  transactionline:
    'uniquekey,id,transaction,linesequencenumber,item,memo,quantity,rate,netamount,mainline,taxline,linelastmodifieddate',
};

/** Rows are in the order of the file's columns; an empty text is null. */
export async function saveTable(
  folder: string,
  name: keyof typeof headers,
  rows: readonly (readonly (string | number)[])[],
): Promise<void> {
  const text = [headers[name], ...rows.map((row) => row.join(','))].join('\n');
  await writeFile(path.join(folder, `${name}.csv.gz`), gzipSync(`${text}\n`));
}
