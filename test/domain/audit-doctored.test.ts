import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { type Line, type LineBody, readLine, sealLine } from '../../src/domain/audit/lines.ts';
import { digest } from '../../src/domain/canonical.ts';
import { chain, read, writeLogs } from './audit-logs.ts';
import { SHA, log, refusal, whole } from './audit-samples.ts';
import { simulationArbitrary } from './audit-simulator.ts';

/** As somebody would who knows how lines are sealed, to make a call look later or earlier. */
function edit(line: Line): LineBody {
  const { prev: _, hash: __, ...body } = line;
  return 'leftAt' in body ? { ...body, leftAt: 1 } : 'at' in body ? { ...body, at: 1 } : body;
}

/** The lines of a first holder's log. */
const logLines = simulationArbitrary.map(({ calls, epochs }) => {
  const [text = ''] = writeLogs({ calls, epochs: epochs.slice(0, 1) });
  return text.trimEnd().split('\n');
});

const textOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('');

describe('a doctored log', () => {
  it('any line with any character changed is rejected', () => {
    const printable = fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code));
    fc.assert(
      fc.property(logLines, fc.nat(), fc.nat(), printable, (lines, n, m, character) => {
        const index = n % lines.length;
        const line = lines[index] ?? '';
        const at = m % line.length;
        fc.pre(line[at] !== character);
        const edited = `${line.slice(0, at)}${character}${line.slice(at + 1)}`;
        const found = refusal(textOf(lines.with(index, edited)));
        assert.equal(found.line, index + 1, found.problem);
      }),
      { numRuns: 200 },
    );
  });

  it('any line edited and sealed again is rejected, unless it is the last', () => {
    fc.assert(
      fc.property(logLines, fc.nat(), (lines, n) => {
        const index = n % (lines.length - 1);
        const parsed = readLine(lines[index] ?? '');
        assert(parsed.ok);
        const edited = sealLine(edit(parsed.line), parsed.line.prev);
        fc.pre(edited.text !== lines[index]);
        refusal(textOf(lines.with(index, edited.text)));
      }),
      { numRuns: 100 },
    );
  });

  it('any line removed is rejected, unless it is the last', () => {
    fc.assert(
      fc.property(logLines, fc.nat(), (lines, n) => {
        refusal(textOf(lines.toSpliced(n % (lines.length - 1), 1)));
      }),
      { numRuns: 100 },
    );
  });

  it('any two lines swapped are rejected', () => {
    fc.assert(
      fc.property(logLines, fc.nat(), fc.nat(), (lines, n, m) => {
        const [i, j] = [n % lines.length, m % lines.length];
        fc.pre(i !== j);
        refusal(textOf(lines.with(i, lines[j] ?? '').with(j, lines[i] ?? '')));
      }),
      { numRuns: 100 },
    );
  });

  it('any line inserted, also one of its own or of another log, is rejected', () => {
    fc.assert(
      fc.property(logLines, logLines, fc.nat(), fc.nat(), (lines, others, n, m) => {
        const index = n % (lines.length + 1);
        const line = others[m % others.length] ?? '';
        fc.pre(line !== lines[index] && line !== '');
        refusal(textOf(lines.toSpliced(index, 0, line)));
      }),
      { numRuns: 100 },
    );
  });

  it('JSON that means the same, written otherwise, is rejected', () => {
    const lines = chain(whole).trimEnd().split('\n');
    for (const written of [` ${lines[1]}`, `${lines[1]}\r`, (lines[1] ?? '').replace('"at":2', '"at":2.0')])
      assert.match(refusal(textOf(lines.with(1, written))).problem, /^expected canonical JSON/);
  });
});

describe('a log whose process was killed while it wrote', () => {
  const text = chain(whole);

  it('is read up to any torn last line, which is told', () => {
    fc.assert(
      fc.property(fc.nat({ max: text.length - 1 }), (length) => {
        const cut = text.slice(0, length);
        const wholeLines = cut.split('\n').length - 1;
        if (wholeLines === 0 && length < text.indexOf('\n')) {
          assert.equal(refusal(cut).name, 'NotASendLogError');
          return;
        }
        const { tornLine, calls } = read(cut);
        const onlyBreakMissing = text[length] === '\n';
        assert.equal(tornLine, onlyBreakMissing || cut.endsWith('\n') ? null : wholeLines + 1);
        assert.equal(calls.length, wholeLines + (onlyBreakMissing ? 1 : 0) >= 3 ? 1 : 0);
      }),
      { numRuns: 300 },
    );
  });

  it('that lacks only the last line break lacks nothing', () => {
    const { calls, tornLine } = read(text.slice(0, -1));
    assert.equal(tornLine, null);
    assert.equal(calls[0]?.end?.verdict, 'succeeded');
  });

  it('goes on in another process that tells of the torn line', () => {
    const torn = '{"answeredAt":4,"att';
    const next = { ...log, nonce: 'fedcba9876543210', torn: digest(torn) };
    const lastHash = sealedHash(whole);
    const goneOn = (header: LineBody) => `${text}${torn}\n${sealLine(header, lastHash).text}\n`;
    assert.deepEqual(read(goneOn(next)).nonces, ['0123456789abcdef', 'fedcba9876543210']);
    assert.equal(refusal(goneOn({ ...next, torn: null })).line, 5, 'a header that knows of none');
    assert.equal(refusal(goneOn({ ...next, torn: SHA })).line, 5, 'a header that knows of another');
    const without = `${text}${sealLine(next, lastHash).text}\n`;
    assert.match(refusal(without).problem, /^torn: tells of a torn line before this one, which was removed/);
  });

  it('a broken line that is not the last, or ends with a line break, is no torn line', () => {
    assert.equal(refusal(`${text}{"answ\n`).line, 5);
    assert.equal(refusal(text.replace('"key":"k"', '"key":"')).line, 3);
  });
});

function sealedHash(lines: readonly LineBody[]): string {
  let hash: string | null = null;
  for (const line of lines) hash = sealLine(line, hash).hash;
  assert(hash !== null);
  return hash;
}
