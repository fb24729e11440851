import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { PublishedSchema } from '../../src/api/batch-answers.ts';
import { revokeKey, readKeys } from '../../src/api/keys-file.ts';
import { ask, publishOver, startApi } from '../support/api.ts';
import { useApi } from '../support/api-stage.ts';
import { withLane } from '../support/scene.ts';

const api = useApi({
  grants: {
    all: { scopes: ['publish', 'read', 'operate'], lanes: 'all' },
    ci: { scopes: ['publish'], lanes: ['guarded'] },
    reader: { scopes: ['read'], lanes: ['guarded'] },
    elsewhere: { scopes: ['publish', 'read', 'operate'], lanes: ['elsewhere'] },
    revoked: { scopes: ['publish', 'read', 'operate'], lanes: 'all' },
  },
});

const ITEMS = [{ key: 'guarded:a', payload: 1 }];
function publishAs(name: 'ci' | 'reader' | 'elsewhere') {
  return publishOver(api.url, 'guarded', 'guarded', ITEMS, api.keys.bearer(name));
}
const REASON = { reason: 'a test' };

test('without a valid key nothing is answered but whether the service is up, and what it can do', async () => {
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs/'])
    assert.equal((await ask(api.url, path)).status, 200, path);
  const wrong = [{}, { Authorization: 'Basic YTpi' }, { Authorization: 'Bearer onelane_0_wrong' }];
  for (const headers of wrong)
    for (const path of ['/v1/lanes', '/v1/batches/x', '/v1/items/x']) {
      const refused = await ask(api.url, path, { headers });
      assert.equal(refused.problem().type, 'urn:onelane:problem:unauthorized');
      assert.equal(refused.headers.get('www-authenticate'), 'Bearer');
    }
  assert.equal((await publishOver(api.url, 'x', 'guarded', ITEMS)).status, 401);
});

test('a key is good for its scopes in its lanes, and for nothing else', async () => {
  await withLane(api.stage, 'guarded', {}, async () => {
    assert.equal((await publishAs('reader')).status, 403);
    assert.equal((await publishAs('elsewhere')).status, 403);
    assert.equal((await publishAs('ci')).status, 200);

    for (const path of ['/v1/batches/guarded', '/v1/batches/guarded/items', '/v1/items/guarded%3Aa']) {
      const statusFor = async (name: 'ci' | 'reader' | 'elsewhere') =>
        (await ask(api.url, path, { headers: api.keys.bearer(name) })).status;
      assert.equal(await statusFor('reader'), 200, path);
      assert.equal(await statusFor('ci'), 403, path);
      assert.equal(await statusFor('elsewhere'), 404, `${path}: what it may not read is unknown to it`);
    }
    for (const name of ['ci', 'reader', 'elsewhere'] as const) {
      const asked = { body: REASON, headers: api.keys.bearer(name) };
      assert.equal((await ask(api.url, '/v1/lanes/guarded/pause', asked)).status, 403, name);
    }
  });
});

test('the name of the key is the publisher of what it publishes', async () => {
  await withLane(api.stage, 'named', {}, async () => {
    await publishOver(api.url, 'named', 'named', [{ key: 'named:a', payload: 1 }], api.keys.bearer('all'));
    const { text } = await ask(api.url, '/v1/items/named%3Aa', { headers: api.keys.bearer('all') });
    assert.match(text, /"publisher":"all"/);
  });
});

test('to a key that may not read, a duplicate is a conflict without its state', async () => {
  await withLane(api.stage, 'guarded', {}, async () => {
    const items = [{ key: 'guarded:secret', payload: 1 }];
    await publishOver(api.url, 'theirs', 'guarded', items, api.keys.bearer('all'));
    const mine = [...items, { key: 'guarded:secret', payload: 2 }, { key: 'guarded:mine', payload: 1 }];
    const repeated = [...mine, { key: 'guarded:mine', payload: 1 }];
    const asked = await publishOver(api.url, 'mine', 'guarded', repeated, api.keys.bearer('ci'));
    assert.deepEqual(asked.as(PublishedSchema).admissions, [
      { position: 0, key: 'guarded:secret', admission: 'conflict', reason: 'key: taken' },
      { position: 1, key: 'guarded:secret', admission: 'conflict', of: 0, reason: 'key: taken' },
      { position: 2, key: 'guarded:mine', admission: 'accepted' },
      { position: 3, key: 'guarded:mine', admission: 'duplicate', of: 2, state: 'waiting' },
    ]);
    assert.doesNotMatch(asked.text, /theirs/);
  });
});

test('whose a key in conflict is stays hidden from who may not read everywhere, whatever is asked', async () => {
  await withLane(api.stage, 'guarded', {}, async () => {
    await withLane(api.stage, 'elsewhere', {}, async () => {
      const headers = api.keys.bearer('elsewhere');
      const items = [{ key: 'fought-over', payload: 1 }];
      await publishOver(api.url, 'whose-it-is', 'guarded', items, api.keys.bearer('all'));
      const published = await publishOver(api.url, 'loser', 'elsewhere', items, headers);
      const answers = [published.text];
      for (const part of ['', '/items', '/report'])
        answers.push((await ask(api.url, `/v1/batches/loser${part}`, { headers })).text);
      for (const answer of answers) assert.doesNotMatch(answer, /whose-it-is/);
      for (const asked of [0, 2, 3]) assert.match(answers[asked] ?? '', /"reason":"key: taken"/);

      const all = await ask(api.url, '/v1/batches/loser/report', { headers: api.keys.bearer('all') });
      assert.match(all.text, /key: taken by another operation, of batch\/whose-it-is/);
    });
  });
});

test('a key that is revoked is refused from the next request on', async () => {
  const headers = api.keys.bearer('revoked');
  assert.equal((await ask(api.url, '/v1/lanes', { headers })).status, 200);
  const { id } = readKeys(api.keys.file)?.find(({ name }) => name === 'revoked') ?? { id: '' };
  await revokeKey(api.keys.file, id);
  assert.equal((await ask(api.url, '/v1/lanes', { headers })).status, 401);
});

test('the keys file holds no key', async () => {
  const text = await readFile(api.keys.file, 'utf8');
  for (const name of ['all', 'ci', 'reader'] as const) {
    const key = api.keys.bearer(name).Authorization.replace('Bearer ', '');
    assert.ok(!text.includes(key) && !text.includes(key.split('_')[2] ?? key));
  }
});

test('a keys file that cannot be read lets nobody in, is told to the log and not to who asks, and may be mended', async () => {
  const { file } = api.keys;
  const headers = api.keys.bearer('all');
  const text = await readFile(file, 'utf8');
  await writeFile(file, 'nonsense');
  const refused = await ask(api.url, '/v1/lanes', { headers });
  assert.equal(refused.status, 503);
  assert.ok(!refused.text.includes(file) && !refused.text.includes('JSON'), refused.text);
  assert.ok(api.said.some((line) => line.includes(`${file}: expected JSON`)));
  await writeFile(file, text);
  assert.equal((await ask(api.url, '/v1/lanes', { headers })).status, 200);
});

test('a client that asks too much is told when to ask again, and no other client is held up', async () => {
  const limited = await startApi(api.stage.client, {
    keys: api.keys.ring,
    limit: { requests: 3, perMs: 60_000 },
  });
  try {
    const askAs = (name: 'all' | 'reader') =>
      ask(limited.url, '/v1/items/nobody', { headers: api.keys.bearer(name) });
    for (let i = 0; i < 3; i++) assert.equal((await askAs('all')).status, 404);
    const refused = await askAs('all');
    assert.equal(refused.problem().type, 'urn:onelane:problem:too-many-requests');
    assert.equal(refused.status, 429);
    assert.match(refused.headers.get('retry-after') ?? '', /^[1-9]\d?$/);
    assert.equal((await askAs('reader')).status, 404);
  } finally {
    await limited.close();
  }
});
