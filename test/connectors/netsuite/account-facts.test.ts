// What an account as a whole has, by the features of the simulated account and by what its role may see.
import { describe, expect, it } from 'vitest';
import { useAccount } from './simulated-account.ts';
import { signal } from './wire.ts';

describe.each(['oneworld', 'single', undefined] as const)('an account of the profile %s', (profile) => {
  const company = useAccount(profile === undefined ? {} : { profile });
  const facts = () => company.connector.account?.(signal);
  const isOneWorld = profile === 'oneworld';
  const whole = {
    hasSubsidiaries: isOneWorld,
    hasCurrencies: true,
    baseCurrency: 'GBP',
    // An account without the feature refuses the table with the same words as one whose role may not see it.
    accountingBooks: isOneWorld
      ? [
          { id: '1', name: expect.any(String), isPrimary: true },
          { id: '2', name: expect.any(String), isPrimary: false },
        ]
      : null,
    utcOffsetMinutes: expect.any(Number),
  };

  it('has its features, its base currency and its books, in few requests', async () => {
    await company.connector.now(signal);
    const before = company.requests();
    expect(await facts()).toEqual(whole);
    expect(company.requests() - before).toBeLessThanOrEqual(7);
  });

  it('has the time zone of its dates, in summer and in winter', async () => {
    const offsets: unknown[] = [];
    for (const [timeZone, at] of [
      ['Europe/London', '2026-01-15T12:00:00Z'],
      ['Europe/London', '2026-07-15T12:00:00Z'],
      ['America/New_York', '2026-01-15T02:30:00Z'],
      ['Asia/Kolkata', '2026-01-15T23:59:59Z'],
    ]) {
      await company.control('POST', '/clock', { timeZone, at });
      offsets.push((await facts())?.utcOffsetMinutes);
    }
    expect(offsets).toEqual([0, 60, -300, 330]);
  });

  it('is unknown where the role may not see it, and never an error', async () => {
    await company.control('PUT', '/hidden', { tables: ['currency', 'accountingbook', 'subsidiary'] });
    expect(await facts()).toMatchObject({ ...whole, baseCurrency: null, accountingBooks: null });
    await company.control('PUT', '/hidden', { tables: ['transaction'] });
    expect(await facts()).toMatchObject({ hasSubsidiaries: null, hasCurrencies: null, baseCurrency: null });
  });

  it('an outage is an error, not an absence', async () => {
    await company.control('PUT', '/faults', [{ on: { kind: 'rows' }, status: 503 }]);
    await expect(facts()).rejects.toMatchObject({ kind: 'down' });
  });
});
