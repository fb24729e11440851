import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, it } from 'node:test';
import {
  connectClient,
  connectionTarget,
  connectNative,
  TemporalConfigError,
  TemporalUnreachableError,
} from '../src/connection.ts';
import { claimDevFile, removeDevFile } from '../src/dev/temporal/dev-file.ts';
import { type DevServer, startDevServer } from '../src/dev/temporal/dev-server.ts';

const SECRET = 'eyJ-a-very-secret-key';

describe('the connection to Temporal', () => {
  let server: DevServer;
  let silent: Server;
  const sockets: Socket[] = [];
  let silentAddress: string;
  let folder: string;
  let configFile: string;
  /** With a configuration file that is not there, so that the one of whoever runs the tests is not read. */
  let env: NodeJS.ProcessEnv;

  before(async () => {
    server = await startDevServer({});
    silent = createServer((socket) => sockets.push(socket.resume())).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    silentAddress = `127.0.0.1:${portOf(silent.address())}`;
  });
  after(async () => {
    await server?.stop();
    for (const socket of sockets) socket.destroy();
    silent?.close();
  });
  beforeEach(async (context) => {
    folder = await mkdtemp(join(tmpdir(), 'onelane-connection-'));
    if ('after' in context) context.after(() => rm(folder, { recursive: true, force: true }));
    configFile = join(folder, 'temporal.toml');
    env = { TEMPORAL_CONFIG_FILE: configFile };
  });

  it('is what the environment says, for client and worker', async () => {
    env['TEMPORAL_ADDRESS'] = server.address;
    env['TEMPORAL_NAMESPACE'] = 'default';
    const client = await connectClient({ env, folder });
    assert.equal(await client.workflow.count().then(({ count }) => count), 0);
    await client.connection.close();
    const { connection, namespace } = await connectNative({ env, folder });
    assert.equal(namespace, 'default');
    await connection.close();
  });

  it('comes from a profile, where the environment has no say', async () => {
    await writeFile(configFile, '[profile.cloud]\naddress = "cloud.example:7233"\nnamespace = "releases"\n');
    env['TEMPORAL_PROFILE'] = 'cloud';
    env['TEMPORAL_NAMESPACE'] = 'from-env';
    env['TEMPORAL_ADDRESS'] = '';
    const { profile: _, ...target } = await connectionTarget({ env, folder });
    assert.deepEqual(target, {
      address: 'cloud.example:7233',
      addressFrom: "profile cloud of Temporal's configuration file",
      namespace: 'from-env',
      namespaceFrom: 'TEMPORAL_NAMESPACE',
    });
  });

  it('is the onelane dev of this folder while that is alive, else the default', async () => {
    const file = { pid: process.pid, address: server.address, ui: 'http://127.0.0.1:2' };
    await claimDevFile(folder, file);
    assert.equal((await connectionTarget({ env, folder })).address, server.address);

    await removeDevFile(folder);
    await claimDevFile(folder, { ...file, address: '127.0.0.1:1' });
    const target = await connectionTarget({ env, folder });
    assert.equal(target.address, '127.0.0.1:7233');
    assert.equal(target.addressFrom, 'the default; TEMPORAL_ADDRESS is not set');
  });

  for (const [name, connect] of Object.entries({ connectClient, connectNative }))
    it(`${name}: a server that does not answer is an error within five seconds, that names what was tried`, async () => {
      env['TEMPORAL_ADDRESS'] = silentAddress;
      env['TEMPORAL_NAMESPACE'] = 'releases';
      const begun = performance.now();
      await assert.rejects(connect({ env, folder }), (error) => {
        assert.ok(error instanceof TemporalUnreachableError);
        assert.ok(error.message.includes(`${silentAddress} (TEMPORAL_ADDRESS)`), error.message);
        assert.ok(error.message.includes('namespace releases (TEMPORAL_NAMESPACE)'), error.message);
        return true;
      });
      assert.ok(performance.now() - begun < 8_000);
    });

  it('a reason that repeats the API key is told without it', async () => {
    const target = await connectionTarget({ env: { ...env, TEMPORAL_API_KEY: SECRET }, folder });
    const error = new TemporalUnreachableError(target, `bad header: Bearer ${SECRET}`);
    assert.match(error.message, /: bad header: Bearer \[secret\]$/);
    assert.ok(!String(error.stack).includes(SECRET));
  });

  it('a configuration file that cannot be read is an error without its content', async () => {
    await writeFile(configFile, `[profile.default]\napi_key = "${SECRET}\n`);
    await assert.rejects(connectClient({ env, folder }), (error) => {
      assert.ok(error instanceof TemporalConfigError);
      assert.match(error.message, /^Temporal's configuration cannot be used: Invalid TOML.*\(line 2\)$/);
      return true;
    });
  });

  it('a profile or a certificate that is not there is an error', async () => {
    await assert.rejects(
      connectClient({ env: { ...env, TEMPORAL_PROFILE: 'nobody' }, folder }),
      TemporalConfigError,
    );
    const tls = { ...env, TEMPORAL_TLS_SERVER_CA_CERT_PATH: join(folder, 'none.pem') };
    await assert.rejects(connectNative({ env: tls, folder }), TemporalConfigError);
  });
});

function portOf(address: string | AddressInfo | null): number {
  assert.ok(address !== null && typeof address === 'object');
  return address.port;
}
