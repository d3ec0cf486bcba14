import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createApp } from '../../src/app.ts';
import { type TestDatabase, testDatabase } from '../setup/database.ts';
import { makeKey, makeOrganization } from '../setup/organization.ts';
import {
  foreignRequests,
  listen,
  readTraces,
  type Site,
  useVisits,
  type Visit,
  withoutFailedLoads,
} from './chromium.ts';
import { tabTo } from './console/console-site.ts';
import { openOperation, operation, send } from './reference-site.ts';

type OpenApi = {
  readonly paths: Record<
    string,
    Record<string, { readonly operationId: string; readonly tags: readonly string[] }>
  >;
  readonly tags: readonly { readonly name: string }[];
};

let database: TestDatabase;
let site: Site;
let key: string;
const openVisit = useVisits();

beforeAll(async () => {
  database = await testDatabase({ settings: { publicUrl: 'https://portal.example.test' } });
  const { id } = await makeOrganization(database.ctx, { name: 'Aster Company' });
  key = (await makeKey(database.ctx, id, { permissions: ['read', 'write'] })).secret;
  site = await listen(createApp(database.ctx));
});
afterAll(async () => {
  await site.close();
  await database.close();
});

async function visit(options: Parameters<typeof openVisit>[0] = {}): Promise<Visit> {
  const made = await openVisit(options);
  await made.page.goto(`${site.origin}/api/platform/v1/openapi/preview`);
  await made.page.getByRole('heading', { name: 'Portal Service: management interface' }).waitFor();
  return made;
}

async function enterKey({ page }: Visit, secret = key): Promise<void> {
  await page.getByLabel('API key').fill(secret);
  await page.getByRole('button', { name: 'Use this key' }).click();
}

async function tryWhoAmI(made: Visit) {
  await openOperation(made, 'getWhoAmI');
  return send(made, 'getWhoAmI');
}

describe('the management reference in a browser', () => {
  it('shows every operation to anyone, by group in the order of the set-up, from its own origin and without console errors', async () => {
    const made = await visit();
    const { paths, tags } = (await (await fetch(`${site.origin}/api/platform/v1/openapi`)).json()) as OpenApi;
    const described = Object.values(paths).flatMap((item) => Object.values(item));
    const groups = made.page.locator('#navigation .resource-link');
    expect(await groups.allInnerTexts()).toEqual(['Guide', ...tags.map(({ name }) => name)]);
    expect(tags.slice(0, 5).map(({ name }) => name)).toEqual([
      'Identity',
      'Organizations',
      'ERP connection',
      'Syncs',
      'API Keys',
    ]);
    for (const { name } of tags) {
      await made.page.locator('#navigation').getByRole('link', { name, exact: true }).click();
      await made.page.getByRole('heading', { name, level: 2, exact: true }).waitFor();
      const own = described
        .filter((each) => each.tags[0] === name)
        .map(({ operationId }) => `at-${operationId}`);
      expect(await made.page.locator('.operation').evaluateAll((all) => all.map(({ id }) => id))).toEqual(
        own,
      );
    }
    expect(made.complaints).toEqual([]);
    expect(foreignRequests(made, site.origin)).toEqual([]);
  });

  it('finds, fills in and sends an operation with the keyboard alone', async () => {
    const made = await visit();
    const { page } = made;
    await enterKey(made);
    await page.getByText('at Aster Company').waitFor();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('create team');
    await page.getByText('1 operation', { exact: true }).waitFor();
    await page.keyboard.press('Enter');
    await page.locator('#title-createTeam:focus').waitFor();
    const editor = operation(made, 'createTeam').getByRole('textbox', { name: 'Request body' });
    expect(JSON.parse(await editor.inputValue())).toMatchObject({ name: expect.any(String) });
    const sendButton = operation(made, 'createTeam').getByRole('button', { name: 'Send' });
    await tabTo(page, sendButton);
    await tabTo(page, editor);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('{"name": "By keyboard"}');
    await tabTo(page, sendButton, { back: true });
    const answered = page.waitForResponse((response) => response.url().endsWith('/teams'));
    await page.keyboard.press('Enter');
    const response = await answered;
    expect([response.status(), response.request().headers()['idempotency-key']]).toEqual([201, undefined]);
    const { id } = (await response.json()) as { id: string };
    await openOperation(made, 'deleteTeam');
    await operation(made, 'deleteTeam').getByLabel('id', { exact: true }).fill(id);
    expect((await send(made, 'deleteTeam')).status()).toBe(204);
    await operation(made, 'deleteTeam').getByText('204').first().waitFor();
    expect(made.complaints).toEqual([]);
    expect(foreignRequests(made, site.origin)).toEqual([]);
    expect(await readTraces(made)).not.toContain(key);
  });

  it('sends a body that was edited', async () => {
    const made = await visit();
    await enterKey(made);
    await made.page.getByText('at Aster Company').waitFor();
    await openOperation(made, 'createApiKey');
    const own = operation(made, 'createApiKey');
    const example = own.getByRole('group', { name: 'Example of the request' });
    await own.getByRole('textbox', { name: 'Request body' }).fill('{"name": "Made in the reference"}');
    expect(await example.innerText()).toMatch(
      /^curl -X POST '.*\/api-keys'[\s\S]*--data '{"name": "Made in the reference"}'$/,
    );
    await own.getByRole('radio', { name: 'Python' }).check();
    expect(await example.innerText()).toContain(`data=r'''{"name": "Made in the reference"}'''.encode(),`);
    await own.getByRole('radio', { name: 'JavaScript' }).check();
    const program = `${(await example.innerText()).replace('YOUR_API_KEY', key)}\nconsole.log(JSON.stringify(result))`;
    const ran = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
    expect(JSON.parse(ran.stdout)).toMatchObject({ name: 'Made in the reference' });
    const response = await send(made, 'createApiKey');
    expect([response.status(), response.request().postData()]).toEqual([
      201,
      '{"name": "Made in the reference"}',
    ]);
    await own.getByRole('group', { name: 'Response body' }).getByText('"Made in the reference"').waitFor();
    expect(made.complaints).toEqual([]);
  });

  it('sends no key after it was removed', async () => {
    const made = await visit();
    await enterKey(made);
    await made.page.getByRole('button', { name: 'Use another key' }).click();
    const response = await tryWhoAmI(made);
    expect(response.status()).toBe(401);
    expect((await response.request().allHeaders())['authorization']).toBeUndefined();
    await made.page.getByText('Sign in or enter an API key at the top of this page.').waitFor();
  });

  it('rejects a wrong key with a clear message', async () => {
    const made = await visit();
    await enterKey(made, 'psk_wrong');
    const alert = made.page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.innerText()).toContain('This API key is not valid');
    expect(withoutFailedLoads(made)).toEqual([]);
  });
});
