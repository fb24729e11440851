import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { it } from 'node:test';
import { fileURLToPath } from 'node:url';
import getPort from 'get-port';

const MAIN = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));
const LANES = fileURLToPath(new URL('../../examples/lanes.yaml', import.meta.url));

it('a worker that cannot reach Temporal says so and ends with 6', { timeout: 60_000 }, async (t) => {
  const worker = spawn(process.execPath, ['--import', 'tsx', MAIN, 'worker', '--config', LANES], {
    env: {
      ...process.env,
      TEMPORAL_ADDRESS: `127.0.0.1:${await getPort()}`,
      UPSTREAM_URL: 'http://127.0.0.1:1',
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => worker.kill('SIGKILL'));
  let said = '';
  worker.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const [code] = await once(worker, 'close', { signal: t.signal });
  assert.match(said, /^onelane: Temporal cannot be reached at 127\.0\.0\.1:/);
  assert.equal(code, 6);
});
