import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, mock } from 'node:test';
import { CommanderError } from 'commander';
import { z } from 'zod';
import { auditCommand } from '../../src/cli/audit.ts';
import { CliError, EXIT } from '../../src/cli/exit.ts';
import { type Simulation, simulate } from '../domain/audit-simulator.ts';
import { hostOf, writeLogs } from '../domain/audit-logs.ts';

const folder = mkdtempSync(join(tmpdir(), 'onelane-audit-'));
after(() => rmSync(folder, { recursive: true }));

/** Runs the command here, as `main.ts` would in a process of its own. */
async function run(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
  let out = '';
  let err = '';
  const log = mock.method(console, 'log', (line: string) => (out += `${line}\n`));
  const exitCodeBefore = process.exitCode;
  let code: unknown;
  try {
    const command = auditCommand().exitOverride();
    await command.configureOutput({ writeErr: (line) => (err += line) }).parseAsync(args, { from: 'user' });
    code = process.exitCode;
  } catch (error) {
    if (error instanceof CliError) err += error.message;
    else assert(error instanceof CommanderError, String(error));
    code = error instanceof CliError ? error.exitCode : EXIT.usage;
  } finally {
    process.exitCode = exitCodeBefore;
    log.mock.restore();
  }
  return { code, out: out.replaceAll(`${folder}/`, ''), err: err.replaceAll(`${folder}/`, '') };
}

/** Writes a simulated lane's logs, and answers their files. */
function filesOf(name: string, simulation: Simulation, offsets = {}): string[] {
  return writeLogs(simulation, offsets).map((log, i) => {
    const file = join(folder, `${name}-${i + 1}.ndjson`);
    writeFileSync(file, log);
    return file;
  });
}

const rules = { requests: 2, perMs: 1_000, arrivalWithinMs: null, maxInFlight: 1, timeoutMs: 500 };
const answered = { kind: 'answered', idleMs: 0, key: 0, latency: 0.1 } as const;
const good = simulate(rules, [
  answered,
  { kind: 'throttled', idleMs: 0, key: 1, latency: 0.1, retryAfterMs: 5_000 },
  { kind: 'kill', after: 0.5, forgets: true },
  answered,
  answered,
]);
const bad: Simulation = {
  ...good,
  calls: good.calls.map((call, i) => (i === 1 ? { ...call, key: 'key-0', left: call.left - 0.5 } : call)),
};

const answerSchema = z.object({
  clean: z.boolean(),
  doctored: z.array(z.object({ file: z.string(), line: z.number(), problem: z.string() })),
  torn: z.array(z.object({ file: z.string(), line: z.number() })),
  report: z
    .object({
      clean: z.boolean(),
      lanes: z.array(z.object({ lane: z.string(), calls: z.number(), takeovers: z.number() })),
    })
    .nullable(),
});

describe('onelane audit', () => {
  it('of clean logs exits 0 and says what they prove', async () => {
    const { code, out, err } = await run(...filesOf('good', good));
    assert.equal(code, 0, err);
    const lines = out.trimEnd().split('\n');
    assert.deepEqual(lines.slice(0, 2), [
      'lane releases: 4 calls, 2 keys',
      '  3 succeeded, 1 throttled, 0 without an end in the logs',
    ]);
    assert.match(out, /2 epochs, 1 takeover, 0 handovers/);
    assert.match(out, /quota \(most seen in any window: 2\): ok/);
    assert.match(
      out,
      /early probe after a crash, as allowed: 20\d\d-.*Z {2}key-0 {2}\(call 2:2, epoch 2, process-2\)/,
    );
    assert.equal(lines.at(-1), 'clean: 4 calls of 1 lane');
  });

  it('of logs that prove the contrary exits 1 and names the calls', async () => {
    const { code, out } = await run(...filesOf('bad', bad));
    assert.equal(code, 1);
    assert.match(
      out,
      /in flight \(most seen open: 2\): 1 violation\n {4}2 calls were open at once, where maxInFlight was 1\n/,
    );
    assert.match(out, /key-0 {2}\(call 1:1, epoch 1, process-1\)/);
    assert.match(out, /same bytes per key: 1 violation/);
    assert.match(out, /NOT CLEAN: 4 calls of 1 lane\n$/);
  });

  it('with --json prints one object', async () => {
    for (const [name, simulation] of Object.entries({ good, bad })) {
      const { code, out } = await run('--json', ...filesOf(name, simulation));
      const { report, ...answer } = answerSchema.parse(JSON.parse(out));
      const clean = name === 'good';
      assert.equal(code, clean ? 0 : 1);
      assert.deepEqual(answer, { clean, doctored: [], torn: [] });
      assert.deepEqual(report, { clean, lanes: [{ lane: 'releases', calls: 4, takeovers: 1 }] });
    }
  });

  it('of doctored logs exits 1 and names each file and line, and proves nothing', async () => {
    const [first = '', second = ''] = filesOf('doctored', good);
    writeFileSync(first, readFileSync(first, 'utf8').replace('"attempt":1', '"attempt":2'));
    const third = join(folder, 'doctored-3.ndjson');
    writeFileSync(third, readFileSync(second, 'utf8').split('\n').toSpliced(1, 1).join('\n'));
    const { code, out } = await run(first, second, third);
    assert.equal(code, 1);
    assert.match(out, /^doctored-1\.ndjson:3: hash: does not fit the line, which was changed\n/);
    assert.match(out, /\ndoctored-3\.ndjson:2: prev: is not the hash of the line before/);
    assert.match(out, /\nNOT CLEAN: a log that was changed after it was written proves nothing\n$/);
    const answer = answerSchema.parse(JSON.parse((await run('--json', first, second, third)).out));
    assert.deepEqual([answer.clean, answer.doctored.length, answer.report], [false, 2, null]);
  });

  it('tells of a torn last line, and takes what stands before', async () => {
    const [first = '', second = ''] = filesOf('torn', good);
    writeFileSync(second, readFileSync(second, 'utf8').slice(0, -5));
    const { code, out } = await run(first, second);
    assert.equal(code, 0);
    assert.match(out, /\ntorn-2\.ndjson:6: torn: its process was killed while it wrote this line\n/);
  });

  it('takes --clock-skew for what clocks of two hosts may differ', async () => {
    const crash = simulate({ ...rules, requests: 9 }, [
      answered,
      { kind: 'kill', after: 0, forgets: false },
      answered,
    ]);
    const files = filesOf('skew', crash, { [hostOf(2)]: -100 });
    assert.equal((await run(...files)).code, 1);
    assert.equal((await run(...files, '--clock-skew', '0ms')).code, 1);
    assert.equal((await run(...files, '--clock-skew', '100ms')).code, 0);
    const { code, err } = await run(...files, '--clock-skew', 'much');
    assert.equal(code, 2);
    assert.match(err, /expected a duration such as 500ms/);
  });

  it('exits 2 when a file can’t be used', async () => {
    const [first = ''] = filesOf('usable', good);
    const other = join(folder, 'other.ndjson');
    const copy = join(folder, 'copy.ndjson');
    writeFileSync(other, '{"key":"a","payload":1}\n');
    writeFileSync(copy, readFileSync(first));
    for (const [files, message] of [
      [[join(folder, 'none.ndjson')], /^none\.ndjson: cannot be read: ENOENT/],
      [[folder], /cannot be read: EISDIR/],
      [[first, other], /^other\.ndjson: expected a send log; line 1: /],
      [[first, copy], /^copy\.ndjson: is a copy of usable-1\.ndjson; give one of them/],
      [[], /missing required argument 'file'/],
    ] as const) {
      const { code, out, err } = await run(...files);
      assert.equal(code, 2, err);
      assert.equal(out, '');
      assert.match(err, message);
    }
  });
});
