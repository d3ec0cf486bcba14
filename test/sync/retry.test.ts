import { describe, expect, it } from 'vitest';
import { ErpError, type ErpErrorKind } from '../../src/connectors/connector.ts';
import { AppError } from '../../src/core/errors.ts';
import {
  backoffMs,
  classifyFailure,
  describeFailure,
  ProofFailed,
  RunFailed,
} from '../../src/sync/queue/retry.ts';
import { testSettings } from '../setup/database.ts';

const retry = {
  ...testSettings.sync,
  retryBaseMs: 10_000,
  retryMaxMs: 1_800_000,
  maxAttemptsWithoutProgress: 5,
};
const erp = (kind: ErpErrorKind, code = 'SOME_CODE', retryAfterMs?: number): ErpError =>
  new ErpError(kind, code, 'words', { fix: 'do this', ...(retryAfterMs !== undefined && { retryAfterMs }) });
const pgError = (code: string): Error =>
  Object.assign(new Error('relation "secret_name" is locked'), { code });

describe('backoffMs', () => {
  it('triples from 10 s up to 30 min', () => {
    expect([1, 2, 3, 4, 5, 6, 7, 20].map((attempt) => backoffMs(attempt, retry, 0.5))).toEqual([
      10_000, 30_000, 90_000, 270_000, 810_000, 1_800_000, 1_800_000, 1_800_000,
    ]);
  });
  it('has 20 % of jitter either way', () => {
    expect([0, 0.999_999].map((random) => backoffMs(1, retry, random))).toEqual([8_000, 12_000]);
  });
});

describe('classifyFailure', () => {
  it.each<[ErpErrorKind, string, string, boolean]>([
    ['throttled', 'CONCURRENCY_LIMIT_EXCEEDED', 'wait', false],
    ['down', 'SERVER_ERROR', 'wait', false],
    ['answer', 'ANSWER_UNREADABLE', 'wait', false],
    ['query', 'COLUMN_UNKNOWN', 'wait', false],
    ['query', 'FIELD_NOT_SYNCABLE', 'wait', false],
    ['query', 'QUERY_REFUSED', 'wait', false],
    ['query', 'HOST_REFUSED', 'fail', false],
    ['forbidden', 'RECORD_TYPE_HIDDEN', 'fail', false],
    ['credentials', 'INVALID_LOGIN', 'fail', true],
  ])('%s %s: %s', (kind, code, verdict, pause) => {
    const judged = classifyFailure(erp(kind, code), 1, retry, 0.5);
    expect(judged.kind).toBe(verdict);
    expect(judged.kind === 'fail' && judged.pause).toBe(pause);
    expect(judged.error.fix).not.toBe('');
  });

  it('gives up at the fifth attempt without progress, and not before', () => {
    const kinds = [1, 4, 5, 6].map((attempt) => classifyFailure(erp('down'), attempt, retry, 0.5).kind);
    expect(kinds.join(' ')).toBe('wait wait fail fail');
  });

  it('does not advise to wait for another attempt once there is none', () => {
    const [first, last] = [1, 5].map((attempt) =>
      classifyFailure(erp('query', 'COLUMN_UNKNOWN'), attempt, retry, 0.5),
    );
    expect([first?.kind, last?.kind]).toEqual(['wait', 'fail']);
    expect(first?.error.fix).toContain('No action is needed');
    expect(last?.error).toMatchObject({
      code: 'METADATA_CHANGED',
      fix: expect.stringContaining('Check that the integration role'),
    });
  });

  it('reads the metadata again once when a query is refused for an unknown reason', () => {
    const [first, second] = [1, 2].map((attempt) =>
      classifyFailure(erp('query', 'INVALID_PARAMETER'), attempt, retry, 0.5),
    );
    expect(first).toMatchObject({ kind: 'wait', error: { code: 'INVALID_PARAMETER', staleMetadata: true } });
    expect(second).toMatchObject({ kind: 'fail', error: { code: 'INVALID_PARAMETER' } });
    expect(second?.error).not.toHaveProperty('staleMetadata');
  });

  it('a failed proof and a permanent failure end the run at once', () => {
    expect(classifyFailure(new ProofFailed('COUNT_MISMATCH', 'm', 'f'), 1, retry, 0.5)).toEqual({
      kind: 'fail',
      pause: false,
      error: { code: 'COUNT_MISMATCH', message: 'm', fix: 'f' },
    });
    expect(classifyFailure(new RunFailed('WORKER_LOST', 'm', 'f'), 1, retry, 0.5).kind).toBe('fail');
  });

  it("waits as long as the ERP's Retry-After, but at least the backoff and at most an hour", () => {
    const delay = (asked?: number) => {
      const judged = classifyFailure(erp('throttled', 'X', asked), 1, retry, 0.5);
      return judged.kind === 'wait' ? judged.delayMs : null;
    };
    expect([delay(), delay(1_000), delay(60_000), delay(86_400_000)]).toEqual([
      10_000, 10_000, 60_000, 3_600_000,
    ]);
  });
});

describe('describeFailure', () => {
  it('a rejected column requests new metadata', () => {
    expect(describeFailure(erp('query', 'COLUMN_UNKNOWN'))).toMatchObject({
      code: 'METADATA_CHANGED',
      staleMetadata: true,
    });
  });
  it.each([pgError('55P03'), pgError('ECONNREFUSED'), new Error('Connection terminated unexpectedly')])(
    'a database failure is reported without its message',
    (error) => {
      expect(describeFailure(error)).toMatchObject({
        code: 'DATABASE',
        message: expect.not.stringContaining('secret_name'),
      });
    },
  );
  it.each([pgError('53100'), new Error('could not extend file "base/5/1": File too large')])(
    'a full disk is reported as such',
    (error) => expect(describeFailure(error).code).toBe('DATABASE_FULL'),
  );
  it("a caller's error code is not an SQLSTATE", () => {
    expect(describeFailure(new AppError('VALIDATION_ERROR', 'x')).code).toBe('INTERNAL');
  });
  it('any other error is internal, without its message', () => {
    expect(describeFailure(new TypeError('secret_name is undefined'))).toMatchObject({
      code: 'INTERNAL',
      message: expect.not.stringContaining('secret_name'),
    });
  });
});
