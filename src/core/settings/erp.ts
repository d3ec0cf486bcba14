// Settings of connections to ERPs and of syncs.
import { z } from 'zod';
import { derived, fixed, inBytes, inMs, setting } from './declare.ts';
import { integer, list, megabyte } from './values.ts';

export const erpSettings = {
  erp: {
    /** Hosts that a connection may use in addition to *.suitetalk.api.netsuite.com, as host or host:port. */
    allowedHosts: setting(
      'ALLOWED_ERP_HOSTS',
      list,
      '',
      'ERP hosts that are allowed in addition to *.suitetalk.api.netsuite.com, as host or host:port, separated by commas.',
    ),
    allowPrivateHosts: setting(
      'ALLOW_PRIVATE_ERP_HOSTS',
      z.stringbool(),
      'false',
      'Whether those hosts may have private addresses. Not allowed in production.',
    ),
    /** Concurrent requests of this process to one ERP account. */
    concurrency: setting(
      'ERP_CONCURRENCY',
      integer(1, 20),
      '2',
      'Concurrent requests to one ERP account, over all of its syncs.',
    ),
    /** For one request including its response. */
    requestTimeoutMs: fixed(120_000),
    /** A larger response is an error. */
    maxResponseBytes: fixed(64 * megabyte),
    /** A larger description of an ERP's record types in one response is an error. */
    maxMetadataBytes: inBytes(
      setting(
        'ERP_MAX_METADATA_MB',
        integer(1, 128),
        '64',
        'Largest metadata document of an OData service, in megabytes. Dynamics 365 Finance sends about 40.',
      ),
    ),
    /**
     * A page of records ends early when the responses for it have this many characters, and the next one
     * requests fewer records.
     */
    maxPageCharacters: fixed(8 * megabyte),
  },
  sync: {
    /** Concurrent runs in this process. */
    workers: setting(
      'SYNC_WORKERS',
      integer(0, 32),
      '2',
      'Sync runs that this process works on at once; 0 leaves them to other processes.',
    ),
    /** After this time without renewal another process may take over a run. */
    leaseMs: inMs(
      setting(
        'SYNC_LEASE_SECONDS',
        integer(1, 3_600),
        '60',
        'Seconds after which a run of an unresponsive process is taken over by another one; up to ten times as many while the process was busy.',
      ),
    ),
    /** Interval of lease renewals. */
    renewMs: derived<number>(),
    /** Delay before the first retry; it triples with each attempt without progress, up to `retryMaxMs`. */
    retryBaseMs: fixed(10_000),
    retryMaxMs: fixed(1_800_000),
    /** A run fails after this many attempts in a row without progress. */
    maxAttemptsWithoutProgress: fixed(5),
    /** Maximum number of records per page that is read from the ERP. */
    pageSize: fixed(1_000),
    /** A record with a larger field is rejected. */
    maxFieldBytes: setting(
      'MAX_FIELD_BYTES',
      integer(1_000, 16 * megabyte),
      String(megabyte),
      'Largest field, and largest record with its lines, that syncs store, in bytes of UTF-8. Larger records are rejected.',
    ),
    maxRecordBytes: setting('MAX_RECORD_BYTES', integer(1_000, 16 * megabyte), String(4 * megabyte)),
    /** How old a swapped-out table must be before it is dropped. */
    dropAfterMs: fixed(60_000),
    /** How far before the high-water mark an incremental run starts to read. */
    overlapMs: fixed(600_000),
    /** Changes in the ERP may become visible late: the high-water mark stays this far behind its clock. */
    settleMs: fixed(300_000),
    /**
     * Records that were closed at most this many days ago are compared in each incremental run; 0 leaves them
     * to the daily scan.
     */
    recentlyClosedDays: setting(
      'SYNC_RECENTLY_CLOSED_DAYS',
      integer(0, 366),
      '7',
      'Days for which each sync run compares closed documents as it compares open ones. All others are compared once a day.',
    ),
    /** Every record is read in full again within this many days, or the time of a pass if longer. */
    fullReadDays: setting(
      'SYNC_FULL_READ_DAYS',
      integer(1, 366),
      '7',
      'Days within which syncs read every record in full again, a part in each run, with at most a tenth of their requests.',
    ),
    /** Maximum age of the cached description of the ERP's record types when a run starts. */
    metadataMaxAgeMs: fixed(86_400_000),
  },
};
