import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BatchStatus } from '../../src/client.ts';
import { ownCommand, ownEnvironment } from '../../src/dev/demo/command.ts';
import { frame } from '../../src/dev/demo/frame.ts';
import { happeningsIn, laneLine } from '../../src/dev/demo/happenings.ts';
import type { Observation, SeenCall } from '../../src/dev/demo/observe.ts';
import type { Story } from '../../src/dev/demo/scenario.ts';
import { liveView, plainView } from '../../src/dev/demo/view.ts';

const STARTED_MS = Date.UTC(2026, 7, 12, 17);
const STORY: Story = { key: 'k', title: '429, Retry-After: 2', kind: 'throttle:seconds', askedMs: 2_000 };
const THROTTLED = call({ key: 'k', fault: STORY.kind, status: 429 });
const PAUSED = { event: 'lane', at: at(900), text: 'lane releases has paused itself: 401' };

describe('what happened', () => {
  it('is told of releases with a story and of broken quotas only, call by call, in order', () => {
    const calls = [
      THROTTLED,
      call({ key: 'plain', atMs: 200 }),
      call({ key: 'over', atMs: 300, overQuota: true, status: 429 }),
      call({ key: 'k', atMs: 2_100 }),
      call({ key: 'k', atMs: 2_300, status: null }),
    ];
    assert.deepEqual(
      happeningsIn(calls, [PAUSED, { ...PAUSED, event: 'ready' }], [STORY]).map(({ text }) => text),
      [
        'k, call 1: 429, Retry-After: 2',
        'over, call 1: over quota',
        PAUSED.text,
        'k, call 2: 201',
        'k, call 3: no answer',
      ],
    );
  });
});

describe('the line about the lane', () => {
  it('says open while calls come', () => assert.equal(lineAt(300, [THROTTLED]), 'open'));

  it('says since when none came, and what the last one met', () =>
    assert.equal(lineAt(1_500, [THROTTLED]), 'quiet for 1.5 s, after 429, Retry-After: 2'));

  it('quotes the worker for as long as no call has come since', () => {
    assert.equal(lineAt(1_500, [THROTTLED], [PAUSED]), PAUSED.text);
    assert.equal(lineAt(1_500, [THROTTLED, call({ atMs: 1_400 })], [PAUSED]), 'open');
  });
});

describe('the live view', () => {
  it('draws each frame over the one before, and never a line longer than the terminal is wide', () => {
    let written = '';
    const terminal = { columns: 30, write: (text: string) => ((written += text), true) };
    const view = liveView(terminal);
    view.show(observation([THROTTLED]), [STORY]);
    const first = written;
    view.show(observation([THROTTLED]), [STORY]);
    const height = first.split('\n').length - 1;
    assert.equal(written, `${first}\u001B[${height}F\u001B[0J${first}`);
    assert.ok(first.split('\n').every((line) => line.length < terminal.columns));
  });

  it('stands still: every frame has as many lines, however much has happened', () => {
    const busy = Array.from({ length: 40 }, (_, i) => call({ key: 'k', atMs: i * 100 }));
    assert.equal(frame(observation([]), [STORY]).length, frame(observation(busy), [STORY]).length);
  });

  it('keeps what was said above it', () => {
    let written = '';
    const view = liveView({ columns: 80, write: (text: string) => ((written += text), true) });
    view.show(observation([]), [STORY]);
    view.say('said');
    const before = written;
    view.show(observation([]), [STORY]);
    assert.ok(!written.slice(before.length).includes('\u001B['));
  });
});

describe('the plain view', () => {
  it('tells each thing once, when it is over, and the counts every five seconds', () => {
    const lines: string[] = [];
    const view = plainView((line) => lines.push(line));
    view.show(observation([call({ ...THROTTLED, status: null, endedMs: null })], 1_000), [STORY]);
    view.show(observation([THROTTLED], 2_000), [STORY]);
    view.show(observation([THROTTLED], 3_000), [STORY]);
    view.show(observation([THROTTLED], 6_000), [STORY]);
    assert.deepEqual(
      lines.map((line) => line.trim()),
      [
        '1.0 s  20 open, 36 succeeded, 1 dead, 0 uncertain; 1 calls',
        '0.0 s  k, call 1: 429, Retry-After: 2',
        '6.0 s  20 open, 36 succeeded, 1 dead, 0 uncertain; 1 calls',
      ],
    );
  });
});

describe('the processes of the demo', () => {
  const config = '/run/temporal.toml';
  const own = {
    execPath: '/bin/node',
    execArgv: ['--import', 'tsx'],
    argv: ['/bin/node', '/onelane/main.ts', 'demo'],
    env: { TEMPORAL_API_KEY: 'secret', TEMPORAL_TLS: 'true', HOME: '/home' },
  };

  it('run this very program, without the Temporal settings of whoever started it', () => {
    const command = ownCommand(['worker', '--json'], config, own);
    assert.deepEqual(command, [
      '/usr/bin/env',
      '-u',
      'TEMPORAL_API_KEY',
      '-u',
      'TEMPORAL_TLS',
      'TEMPORAL_CONFIG_FILE=/run/temporal.toml',
      '/bin/node',
      '--import',
      'tsx',
      '/onelane/main.ts',
      'worker',
      '--json',
    ]);
    assert.ok(!command.join(' ').includes('secret'));
  });

  it('and so does its own client', () => {
    assert.deepEqual(ownEnvironment(config, own.env), {
      HOME: '/home',
      TEMPORAL_CONFIG_FILE: '/run/temporal.toml',
    });
  });
});

function lineAt(nowMs: number, calls: SeenCall[], lines: (typeof PAUSED)[] = []): string {
  return laneLine(STARTED_MS + nowMs, calls, lines, [STORY]);
}

function at(ms: number): string {
  return new Date(STARTED_MS + ms).toISOString();
}

function call({ atMs = 0, ...fields }: Partial<SeenCall> & { atMs?: number }): SeenCall {
  const wallMs = STARTED_MS + atMs;
  return { sequence: 1, wallMs, key: 'a', fault: null, overQuota: false, status: 201, endedMs: 1, ...fields };
}

function observation(calls: SeenCall[], atMs = 1_000): Observation {
  const counts = {
    published: 60,
    accepted: 57,
    duplicate: 1,
    conflict: 1,
    rejected: 1,
    pending: 0,
    succeeded: 36,
    dead: 1,
    uncertain: 0,
    discarded: 0,
    terminated: 0,
    open: 20,
  };
  const status: BatchStatus = {
    batchId: 'demo:run',
    lane: 'releases',
    content: '',
    admitted: true,
    admissions: [],
    states: {},
    ends: {},
    held: null,
    discarded: null,
    counts,
    publisher: null,
    failure: null,
    page: 0,
    pages: 1,
    workflow: 'RUNNING',
    from: 'workflow',
  };
  const nowMs = STARTED_MS + atMs;
  return { nowMs, startedMs: STARTED_MS, status, calls, upstreamListens: true, workerLines: [] };
}
