import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import getPort from 'get-port';
import { z } from 'zod';
import { PublishedSchema } from '../../src/api/batch-answers.ts';
import { createKey } from '../../src/api/keys-file.ts';
import { startDevServer } from '../../src/dev/temporal/dev-server.ts';
import { batchWorkflowId } from '../../src/domain/ids.ts';
import { ask, publishOver } from '../support/api.ts';
import { type Ended, Process, onelane } from './support/process.ts';
import { items, keysOf, type Scene, withScene } from './support/scene.ts';
import { type Temporal, connectTo, useTemporal } from './support/temporal.ts';
import { until } from './support/until.ts';
import { assertOneEffectEach } from './support/upstream.ts';

interface Api {
  readonly process: Process;
  readonly url: string;
}

/** Started in the scene's folder, where it finds no keys but those that it is given. */
async function startApi({ folder }: Scene, { address }: Temporal, ...args: string[]): Promise<Api> {
  const process = onelane(['api', '--json', '--port', '0', ...args], {
    cwd: folder,
    env: { TEMPORAL_ADDRESS: address },
  });
  const line = await process.line(/"event":"listening"/);
  const [url] = /http:[^,"]+/.exec(line) ?? [];
  assert.ok(url, line);
  return { process, url };
}

suite('the HTTP service as a process of its own', () => {
  const temporal = useTemporal();

  test('killed between taking a batch and answering, another one gives the answer, and nothing is done twice', () =>
    withScene({ temporal }, async (scene) => {
      const batchId = scene.batchId('killed');
      const batch = items('killed api', 20);
      const first = await startApi(scene, temporal);
      // With no worker there is no answer yet.
      const unanswered = publishOver(first.url, batchId, scene.lane('releases'), batch).catch(
        () => 'cut off' as const,
      );
      await until('Temporal has the batch', () => isKnown(temporal, batchId));
      await first.process.end('SIGKILL');
      assert.equal(await unanswered, 'cut off');

      const second = await startApi(scene, temporal);
      await scene.worker();
      const answered = await publishOver(second.url, batchId, scene.lane('releases'), batch);
      assert.equal(answered.status, 200, answered.text);
      const { admissions } = answered.as(PublishedSchema);
      assert.ok(admissions.every(({ admission }) => admission === 'accepted'));
      await scene.settledById(batchId);
      await assertOneEffectEach(scene.upstream, keysOf(batch));
      assert.equal((await second.process.end('SIGTERM')).code, 0);
    }));

  test('two hundred clients at once, each with its own key, are all answered, and each is named as publisher', () =>
    withScene({ temporal }, async (scene) => {
      const file = join(scene.folder, 'keys.json');
      const names = Array.from({ length: 200 }, (_, n) => `client-${n}`);
      const keys: string[] = [];
      for (const name of names)
        keys.push((await createKey(file, name, { scopes: ['publish'], lanes: 'all' })).key);
      await scene.worker();
      const { url, process } = await startApi(scene, temporal, '--keys', file);
      const lane = scene.lane('releases');
      const answers = await Promise.all(
        keys.map((key, n) => {
          const item = { key: `clients:${n}`, payload: n };
          const batchId = scene.batchId(`clients ${n}`);
          return publishOver(url, batchId, lane, [item], { Authorization: `Bearer ${key}` });
        }),
      );
      const refused = answers.filter(({ status }) => status !== 200 && status !== 202);
      assert.deepEqual(
        refused.map(({ text }) => text),
        [],
      );
      const known = names.map((_, n) => `clients:${n}`);
      await until('each has had its effect', async () => (await scene.upstream.effects()).length >= 200);
      await assertOneEffectEach(scene.upstream, known);
      assert.equal((await scene.record('clients:150')).publisher, 'client-150');
      await process.end('SIGTERM');
    }));

  for (const [language, program, args] of [
    ['Python', 'python3', [producer('publish.py')]],
    ['Go', 'go', ['run', producer('publish.go')]],
  ] as const)
    test(`a producer in ${language}, written for a queue, waits as long as a 429 says, and is answered`, () =>
      withScene({ temporal }, async (scene) => {
        const file = join(scene.folder, 'keys.json');
        const { key } = await createKey(file, language, { scopes: ['publish', 'read'], lanes: 'all' });
        await scene.worker();
        const { url, process } = await startApi(scene, temporal, '--keys', file, '--limit', '1/5s');
        const publish = (count: number, batch: string): Process => {
          const more = [url, key, scene.lane('releases'), scene.batchId(batch), String(count)];
          return new Process(language, program, [...args, ...more], { cwd: scene.folder });
        };
        const batchId = scene.batchId(language);
        // Its first request may come long after this, once it is compiled: then the second finds the limit reached.
        assert.deepEqual((await endOf(publish(3, language)))[0], 200);
        const seen = await Promise.all([publish(3, language), publish(3, language)].map(endOf));
        assert.deepEqual(
          seen.map((statuses) => statuses.at(-1)),
          [200, 200],
        );
        assert.ok(seen.flat().includes(429), JSON.stringify(seen));
        await scene.settledById(batchId);
        await assertOneEffectEach(
          scene.upstream,
          [0, 1, 2].map((n) => `${batchId}:${n}`),
        );
        await process.end('SIGTERM');
      }));

  test('with no key it refuses to listen anywhere but on loopback', () =>
    withScene({ temporal }, async (scene) => {
      const refused = await scene.run('api', '--host', '0.0.0.0', '--port', '0');
      assert.equal(refused.code, 2);
      assert.match(refused.stderr, /no key is configured/);
    }));

  test('it says the address that it was told to listen on', () =>
    withScene({ temporal }, async (scene) => {
      assert.equal((await scene.run('keys', 'create', 'ci', '--scopes', 'read')).code, 0);
      const api = await startApi(scene, temporal, '--host', '0.0.0.0');
      assert.match(api.url, /^http:\/\/0\.0\.0\.0:[1-9]\d*$/);
      await api.process.end('SIGTERM');
    }));

  test('keys are made, listed without what they are used by, and revoked from the command line', () =>
    withScene({ temporal }, async (scene) => {
      const made = await scene.run(
        'keys',
        'create',
        'ci',
        '--scopes',
        'publish,read',
        '--lanes',
        'releases',
        '--json',
      );
      assert.equal(made.code, 0, made.stderr);
      const { key, id } = z.object({ key: z.string(), id: z.string() }).parse(JSON.parse(made.stdout));
      const listed = await scene.run('keys', 'list', '--json');
      assert.ok(!listed.stdout.includes(key));
      assert.match(listed.stdout, /"name":"ci","scopes":\["publish","read"\],"lanes":\["releases"\]/);
      assert.equal((await scene.run('keys', 'revoke', id)).code, 0);
      assert.equal((await scene.run('keys', 'list', '--json')).stdout, '[]');
      assert.equal((await scene.run('keys', 'revoke', id)).code, 5);
      assert.equal((await scene.run('keys', 'create', 'x', '--scopes', 'everything')).code, 2);
    }));
});

suite('while Temporal is away', () => {
  test('a publish is 503 with Retry-After, and the same request is answered once Temporal is back', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'onelane-system-temporal-'));
    const port = await getPort({ host: '127.0.0.1', reserve: true });
    const place = { dbFile: join(folder, 'temporal.db'), port };
    const first = await startDevServer(place);
    const client = await connectTo(first.address);
    const temporal = { address: first.address, namespace: 'default', client };
    try {
      await withScene({ temporal }, async (scene) => {
        const { url, process } = await startApi(scene, temporal);
        const batch = items('away', 5);
        const publish = () => publishOver(url, scene.batchId('away'), scene.lane('releases'), batch);
        await first.kill();
        const away = await publish();
        assert.equal(away.status, 503, away.text);
        assert.equal(away.problem().type, 'urn:onelane:problem:away');
        assert.match(away.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
        assert.equal((await ask(url, '/readyz')).status, 503);
        assert.equal((await ask(url, '/healthz')).status, 200);
        const again = await startDevServer(place);
        try {
          await scene.worker();
          await until('it is answered', async () => (await publish()).status === 200);
          await scene.settledById(scene.batchId('away'));
          await assertOneEffectEach(scene.upstream, keysOf(batch));
          await process.end('SIGTERM');
        } finally {
          await again.stop();
        }
      });
    } finally {
      await temporal.client.connection.close();
      await rm(folder, { recursive: true });
    }
  });
});

function producer(file: string): string {
  return fileURLToPath(new URL(`../producers/${file}`, import.meta.url));
}

/** The statuses that it was answered, in order. */
async function endOf(process: Process): Promise<number[]> {
  const { code, stdout, stderr }: Ended = await process.ended;
  assert.equal(code, 0, stderr);
  return z.array(z.number()).parse(JSON.parse(stdout));
}

async function isKnown({ client }: Temporal, batchId: string): Promise<boolean> {
  try {
    await client.workflow.getHandle(batchWorkflowId(batchId)).describe();
    return true;
  } catch {
    return false;
  }
}
