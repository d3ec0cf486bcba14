// An operation of the management interface as a value. Express, OpenAPI, the MCP tools and the every-route
// test read it; `define.ts` makes it.
import type { z } from 'zod';
import type { CallerCtx, Ctx } from '../../core/ctx.ts';
import type { Permission, signUpPermission } from '../../core/permissions.ts';

export type RouteGroup =
  | 'Identity'
  | 'Organizations'
  | 'Teams'
  | 'Domains'
  | 'Syncs'
  | 'Views'
  | 'API Keys'
  | 'Webhooks'
  | 'Agents'
  | 'Pay'
  | 'Portal Config'
  | 'ERP connection'
  | 'Description';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/** The path in OpenAPI's notation, relative to the interface's base path: `GET /api-keys/{id}`. */
export type Endpoint = `${Method} /${string}`;

/** What every specification of an operation may say besides its id and endpoint. */
export type OperationDetails = {
  readonly summary: string;
  readonly description?: string;
  /** Status of a success response; 200 unless given, 204 when there is no response schema. */
  readonly status?: 200 | 201 | 202;
  /** A valid request body, for the OpenAPI document. */
  readonly example?: Readonly<Record<string, unknown>>;
  /** A success response for the OpenAPI document; generated from the response schema unless given. */
  readonly responseExample?: unknown;
  /** It reads synced records for the caller, who therefore also needs `record:read`. */
  readonly readsRecords?: true;
  /** It writes although its permission is one to read: refused for credentials that can only read. */
  readonly writes?: true;
  /** Its response may show values of records, depending on the request. */
  readonly showsRecords?: true;
  /** Another permission that suffices, if the path names one of these. */
  readonly orPermission?: {
    readonly permission: Permission;
    readonly for?: Readonly<Record<string, string>>;
  };
  /** An API key may call it for itself, as the path's `id`, whatever its scopes. */
  readonly openToOwnKey?: true;
  /**
   * Documented error statuses that can't be derived from the route: 404 where its single object may be
   * absent, 422 of a GET.
   */
  readonly additionalErrors?: readonly (404 | 422)[];
  /** Response fields that are shown only once (secrets): null when a stored response is replayed. */
  readonly shownOnce?: readonly string[];
};
export type Operation = OperationDetails & {
  /** The operationId: a verb and a noun, unique. */
  readonly id: string;
  readonly group: RouteGroup;
  readonly method: Method;
  readonly path: string;
};

/** Where an operation writes its events when the client requests a stream. */
export type EventChannel = {
  /** Aborted when the stream has no reader any more; work done for the stream stops then. */
  readonly signal: AbortSignal;
  /** The id of the last event the client saw (`Last-Event-ID`); null for a new stream. */
  readonly lastEventId: string | null;
  /** Waits for notifications (NOTIFY on `streams`) about a topic. `next` rejects when `signal` aborts. */
  subscribe(topic: string): { next(): Promise<void>; end(): void };
  /**
   * Waits while the client reads slowly (backpressure). Rejects once `signal` is aborted, or when the event
   * doesn't fit its schema.
   */
  send(event: { readonly event: string; readonly data: unknown; readonly id?: string }): Promise<void>;
};

export type Stream<C, I> = {
  readonly description: string;
  /** The schema of each event's data, by event name. */
  readonly events: Readonly<Record<string, z.ZodType>>;
  /** Of a POST: the event that holds the response. A replayed request gets only this event. */
  readonly resultEvent?: string;
  /**
   * Sends events until there are no more. An error thrown before the first event becomes an ordinary error
   * response. Resolves with what the handler would have returned, to be stored under the Idempotency-Key.
   */
  run(ctx: C, input: I, channel: EventChannel): Promise<unknown>;
};
/** A complete result as a file. */
export type DownloadFile = {
  readonly fileName: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: AsyncIterable<Buffer>;
  /** Aborted when the bytes end before the file is complete. */
  readonly aborted: AbortSignal;
  /** The entity tag of a file whose bytes will be the same when it is read again, so that it can be continued. */
  readonly tag?: string | undefined;
};
/** The forms of files, with their media types. */
export const downloadTypes = {
  csv: 'text/csv',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const;
export type DownloadForm = keyof typeof downloadTypes;
export type Download<C, I> = {
  /** The first is what a person gets who opens the address in a browser. */
  readonly forms: readonly [DownloadForm, ...DownloadForm[]];
  readonly description: string;
  /** Of the CSV file. */
  readonly example: string;
  /** HEAD has the headers of the file when asked for it, as the public exports do; otherwise JSON's. */
  readonly servesHead?: true;
  /** Its files have an entity tag, so that one that broke off can be continued. */
  readonly resumes?: true;
  /** An error it throws becomes an ordinary error response. `signal` is aborted when the client has gone. */
  open(ctx: C, input: I, form: DownloadForm, signal: AbortSignal): Promise<DownloadFile>;
};

/**
 * Access to operations of a person, with or without an organization. 'any': every valid credential.
 * 'authenticated': every credential except a restricted key. 'signed-in': a person's own token or session,
 * never a key. Creating an organization needs the sign-up permission.
 */
export type PersonPermission = 'any' | 'authenticated' | 'signed-in' | typeof signUpPermission;

/** `queryText` is the query string as sent; absent when `query` never was one, as in a tool's arguments. */
export type RawInput = {
  readonly params: unknown;
  readonly query: unknown;
  readonly queryText?: string;
  readonly body: unknown;
};

export type Route = Operation & {
  readonly access: 'credential' | 'person';
  readonly permission: Permission | PersonPermission;
  readonly params: z.ZodObject | undefined;
  readonly query: z.ZodObject | undefined;
  readonly body: z.ZodType | undefined;
  readonly response: z.ZodType | undefined;
  readonly stream: Stream<CallerCtx, unknown> | undefined;
  readonly download: Download<CallerCtx, unknown> | undefined;
  /** Parses strictly and reports all problems at once. Throws 400 for path and query, 422 for the body. */
  parse(raw: RawInput): unknown;
  handle(ctx: CallerCtx, input: unknown): Promise<unknown>;
};

/** A request without a credential. `rawBody`: the bytes as received, which a webhook's signature covers. */
export type PublicCall = {
  readonly params: Readonly<Record<string, string>>;
  readonly rawBody: Buffer;
  readonly headers: Readonly<Record<string, string | undefined>>;
};

/** Served without a credential. A test lists every public route. */
export type PublicRoute = Operation & {
  readonly access: 'public';
  readonly params: z.ZodObject | undefined;
  /** Only for webhooks, which take a body; the sender authenticates itself by signing it. */
  readonly maxBodyBytes: number | undefined;
  readonly response: z.ZodType;
  handler(ctx: Ctx, call: PublicCall): Promise<unknown>;
};

export type AnyRoute = Route | PublicRoute;
/** A route before `inGroup`. */
export type Ungrouped<R extends AnyRoute> = Omit<R, 'group'>;

export const successStatus = (route: AnyRoute): number =>
  route.status ?? (route.response === undefined ? 204 : 200);
