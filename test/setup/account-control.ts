// Requests to the control interface of a simulated account.
import type { NetsuiteAccount } from 'netsuite-simulator';

/** A parsed answer, whose members the tests assert. */
type Answered = ReturnType<typeof JSON.parse>;

/** Rejects with an Error unless the answer is a success. */
export async function sendControl(
  account: NetsuiteAccount,
  method: string,
  path: string,
  body?: unknown,
): Promise<Answered> {
  const { url, token } = account.control ?? { url: '', token: '' };
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}` },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text);
}
