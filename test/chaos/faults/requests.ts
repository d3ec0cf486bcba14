// Faults that meet the next requests, whatever these ask for.
import type { Stage } from '../actions.ts';
import type { RequestFault } from '../plan-names.ts';

/** By which the account's audit trail tells them apart. */
const statuses: Readonly<Record<RequestFault, number>> = {
  '429': 429,
  '500': 500,
  cut: 502,
  slow: 504,
  html: 200,
};
/** Longer than the service waits for a response. */
const slowMs = 1_200;

const refusal = (detail: string, code: string) => ({
  type: 'about:blank',
  title: 'Error',
  'o:errorDetails': [{ detail, 'o:errorCode': code }],
});
const bodies: Readonly<Partial<Record<RequestFault, object | string>>> = {
  '429': refusal('Too many.', 'CONCURRENCY_LIMIT_EXCEEDED'),
  '500': refusal('An unexpected error occurred.', 'UNEXPECTED_ERROR'),
  cut: '{"items":[{"id":"1"}',
  html: '<!DOCTYPE html><html><body>Under maintenance</body></html>',
};

export function injectFault({ fixture }: Stage, fault: RequestFault, times: number): void {
  fixture.account.injectFault({
    path: /./,
    times,
    status: statuses[fault],
    body: bodies[fault],
    ...(fault === 'cut' && { cut: true }),
    ...(fault === 'slow' && { delayMs: slowMs }),
  });
}

/** How often the account has returned the injected response since then. */
export function countHits({ fixture, report }: Pick<Stage, 'fixture' | 'report'>, since: Date): void {
  for (const { at, status, reason } of fixture.account.audit()) {
    if (reason !== 'injected fault' || at < since) continue;
    for (const fault of Object.keys(statuses) as RequestFault[])
      if (statuses[fault] === status) report.coverage[fault].hit += 1;
  }
}
