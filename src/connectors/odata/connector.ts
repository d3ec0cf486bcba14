// Implements the Connector contract for an OData v4 service. It only assembles the parts, which decide.
import { dayIn } from '../../core/time-zone.ts';
import type { Connector, ConnectorCtx, ConnectorKind } from '../connector.ts';
import { createSignIn, type SignInSecrets } from '../http/sign-in.ts';
import { testBy } from '../http/test-by.ts';
import type { OdataSettings } from './connection.ts';
import { createCsdlParser } from './metadata/csdl.ts';
import { getDefinition } from './metadata/definition.ts';
import { describeRecordTypes, listHeads } from './metadata/describe.ts';
import { probeRecordType } from './metadata/probe.ts';
import { listChanges, toToken } from './read/changes.ts';
import { createReads } from './read/records.ts';
import { createOdataHttp } from './requests/http.ts';

/** Settings and secrets are those of connection.ts; kinds.ts parses what is stored before `create`. */
export const odata: ConnectorKind<OdataSettings, SignInSecrets> = { create: createOdataConnector };

function createOdataConnector(ctx: ConnectorCtx, settings: OdataSettings, secrets: SignInSecrets): Connector {
  const { serviceRoot, tenant, company } = settings;
  const account = [serviceRoot, tenant, company].map((part) => JSON.stringify(part)).join(' ');
  const http = createOdataHttp({
    ctx,
    settings,
    signIn: createSignIn(ctx, settings.signIn, secrets),
    limiter: ctx.erpLimits.of(account, ctx.settings.erp.concurrency),
  });
  const reads = createReads(http, settings);
  const readCsdl = async (signal: AbortSignal) => {
    const parser = createCsdlParser();
    await http.getMetadata(parser.write, signal);
    return parser.end();
  };
  return {
    ...reads,
    async readPage(request) {
      const { changeToken, ...page } = await reads.readPage(request);
      return { ...page, ...(changeToken && { changeToken: toToken(account, changeToken) }) };
    },
    changeTracking: {
      list: async ({ recordType, token, signal }) =>
        listChanges(http, account, getDefinition(recordType), token, signal),
    },
    test: (signal) => testBy(ctx.clock, serviceRoot, http.readTime, signal),
    now: http.readTime,
    today: async (signal) => dayIn(settings.timeZone, await http.readTime(signal)),
    discover: async (signal) => listHeads(await readCsdl(signal), settings),
    async metadata(signal, only = []) {
      if (only.length === 0) return [];
      const described = describeRecordTypes(await readCsdl(signal), settings, only);
      return Promise.all(described.map((one) => probeRecordType(reads, one, signal)));
    },
  };
}
