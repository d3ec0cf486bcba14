// Types for the part of this untyped client that the tests use.
declare module '@fye/netsuite-rest-api' {
  type Config = {
    netsuiteApiHost: string;
    consumerKey: string;
    consumerSecret: string;
    netsuiteAccountId: string;
    netsuiteTokenKey: string;
    netsuiteTokenSecret: string;
    netsuiteQueryLimit?: number;
    /** http instead of https. */
    testEnv?: boolean;
  };
  type RequestData = {
    method: string;
    requestType: 'suiteql' | 'record';
    query?: unknown;
    path?: string;
    nextUrl?: string;
  };
  type Body = {
    links: { rel: string; href: string }[];
    items: Record<string, string>[];
    hasMore: boolean;
    count: number;
    'o:errorDetails': { detail: string }[];
  };
  type Answer = { statusCode: number; headers: Record<string, string | undefined>; body: Body };
  const client: {
    makeRequest(config: Config, data: RequestData): Promise<Answer>;
    update(config: Config, data: { id: string; updateValues: object; path: string }): Promise<Answer>;
  };
  export default client;
}
