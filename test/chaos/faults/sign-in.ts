// The account refuses the service's credentials until a person repairs them as docs/operations.md says, or
// other integrations use up the account's concurrency for a while.
import { waitFor } from '../company.ts';
import type { StateFault } from '../plan-names.ts';
import { countOnWire, type Ending, type FaultDefinition, type FaultStage, inTurn } from './fault.ts';

type Connection = {
  readonly accountId: string;
  readonly authentication: {
    readonly clientId: string;
    readonly consumerKey: string;
    readonly tokenId: string;
  };
  readonly certificates: readonly {
    readonly active: boolean;
    readonly certificateId: string | null;
    readonly certificatePem: string;
  }[];
};

/**
 * The body of a successful answer, however long the database is away. Rejects with an Error for a refusal.
 */
const call = <T>(
  { company }: FaultStage,
  method: 'get' | 'post' | 'put',
  path: string,
  body?: object,
): Promise<T> =>
  waitFor(`${method} ${path}`, async () => {
    const answer = await company.api(method, path, body);
    if (answer.status >= 500) return undefined;
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer.body;
  });
const putConnection = async (stage: FaultStage, authentication: object): Promise<void> => {
  const { accountId } = await call<Connection>(stage, 'get', '/netsuite/connection');
  await call(stage, 'put', '/netsuite/connection', {
    accountId,
    baseUrl: stage.fixture.wire.url,
    authentication,
  });
  await call(stage, 'post', '/netsuite/connection/test');
};

/** The same certificate is uploaded again, or a new one. */
async function repairCertificate(stage: FaultStage, isReplaced: boolean): Promise<void> {
  const { authentication, certificates } = await call<Connection>(stage, 'get', '/netsuite/connection');
  const { clientId } = authentication;
  const { certificatePem } = isReplaced
    ? await call<{ certificatePem: string }>(stage, 'post', '/netsuite/connection/certificate')
    : (certificates.find(({ active }) => active) ?? { certificatePem: '' });
  const { certificateId } = await stage.fixture.account.uploadCertificate(clientId, certificatePem);
  await putConnection(stage, { method: 'oauth2', clientId, certificateId });
}

async function repairToken(stage: FaultStage): Promise<void> {
  const { consumerKey, consumerSecret, tokenId, tokenSecret } =
    await stage.fixture.account.createTokenCredentials('Portal Service');
  await putConnection(stage, { method: 'tba', consumerKey, consumerSecret, tokenId, tokenSecret });
}

/** Revokes what this company signs in with, and returns how a person repairs it. */
async function revokeCredentials(stage: FaultStage, isReplaced: boolean): Promise<Ending> {
  const { account } = stage.fixture;
  const { authentication, certificates } = await call<Connection>(stage, 'get', '/netsuite/connection');
  if (stage.plan.signIn === 'tba') {
    await account.revokeTokenCredentials(authentication.tokenId);
    return () => repairToken(stage);
  }
  const id = certificates.find(({ active }) => active)?.certificateId;
  if (id) await account.revokeCertificate(id);
  account.revokeTokens();
  return () => repairCertificate(stage, isReplaced);
}

/**
 * The role may not log in, or the integration is disabled: what an administrator of the account gives back.
 */
async function refuseLogin(stage: FaultStage, isDisabled: boolean): Promise<Ending> {
  const { account, control } = stage.fixture;
  const { authentication } = await call<Connection>(stage, 'get', '/netsuite/connection');
  const test = () => call(stage, 'post', '/netsuite/connection/test');
  if (isDisabled && stage.plan.signIn === 'tba') {
    await account.setIntegrationEnabled(authentication.consumerKey, false);
    return async () => {
      await account.setIntegrationEnabled(authentication.consumerKey, true);
      await test();
    };
  }
  const grant = await control.forbid(['logIn']);
  return async () => {
    await grant();
    await test();
  };
}

const revokedSignIn: FaultDefinition = {
  async begin(stage, _recordType, random, hit) {
    const stop = countOnWire(
      stage,
      ({ status, path }) => status === 401 || (status >= 400 && path.includes('/oauth2/')),
      hit,
    );
    const [isOwn, isOther] = [random.chance(0.6), random.chance(0.5)];
    return inTurn(stop, isOwn ? await revokeCredentials(stage, isOther) : await refuseLogin(stage, isOther));
  },
};

/** The account's limit. */
const concurrencyLimit = 5;

/** All places are taken, or all but one: until the ending, or until the account has refused some requests. */
const usedConcurrency: FaultDefinition = {
  async begin(stage, _recordType, random, hit) {
    const { control } = stage.fixture;
    const release = () => control.send('POST', '/load', { concurrency: 0 });
    let left = random.chance(0.5) ? random.between(2, 20) : Number.POSITIVE_INFINITY;
    let released: Promise<unknown> = Promise.resolve();
    const stop = countOnWire(
      stage,
      ({ status }) => status === 429,
      () => {
        hit();
        left -= 1;
        if (left === 0) released = release();
      },
    );
    await control.send('POST', '/load', { concurrency: concurrencyLimit - (random.chance(0.25) ? 1 : 0) });
    return inTurn(stop, async () => {
      await released;
      await release();
    });
  },
};

export const signInFaults = {
  'revoked-sign-in': revokedSignIn,
  'used-concurrency': usedConcurrency,
} as const satisfies Partial<Record<StateFault, FaultDefinition>>;
