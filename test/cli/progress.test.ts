import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';

const PROGRESS = new URL('../../src/cli/progress.ts', import.meta.url).href;

/** A publish that shows its progress on what it takes for a terminal, and gets a signal in the middle. */
function interrupted(signal: NodeJS.Signals): string {
  return `
    process.stderr.isTTY = true;
    const { startProgress } = await import('${PROGRESS}');
    startProgress({ total: 3000 }).add(500);
    process.kill(process.pid, '${signal}');
    setInterval(() => undefined, 60_000);`;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const)
  test(`a ${signal} in the middle of a publish ends it, with the terminal as it was, and says how to go on`, async () => {
    const child = spawn(
      process.execPath,
      ['--import', 'tsx', '--input-type=module', '--eval', interrupted(signal)],
      { stdio: ['ignore', 'ignore', 'pipe'], timeout: 30_000, killSignal: 'SIGKILL' },
    );
    const [stderr, ended] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    assert.deepEqual(ended, [null, signal], stderr);
    const [noWrap, wrap] = ['\u001b[?7l', '\u001b[?7h'].map((code) => stderr.lastIndexOf(code));
    assert.ok(noWrap !== undefined && wrap !== undefined && noWrap >= 0, 'the bar was shown');
    assert.ok(wrap > noWrap, 'lines wrap again');
    assert.match(stderr, / 0 of 3000 items answered, -\/s, - left/, 'nothing is known yet');
    assert.match(stderr, / 500 of 3000 items answered, [\d.]+\/s, \d+[sm] left/);
    assert.match(stderr, /stopped with 500 items answered; the same command again goes on\n$/);
  });
