import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { z } from 'zod';
import { chanceFault, chanceSchema } from '../../src/dev/upstream/chance.ts';
import {
  faultKind,
  faultSchema,
  faultScriptSchema,
  scriptedFault,
  type Fault,
} from '../../src/dev/upstream/faults.ts';
import { httpDate } from '../../src/dev/upstream/http-date.ts';

const fault = (written: z.input<typeof faultSchema>): Fault => faultSchema.parse(written);

describe('a fault script', () => {
  const step = fc.record({ ms: fc.integer({ min: 0, max: 99 }), times: fc.integer({ min: 1, max: 4 }) });

  it('gives each arrival its fault, repeated as often as it says, then none', () => {
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const faults = steps.map(({ ms, times }) => fault({ type: 'delay', ms, times }));
        const expected = faults.flatMap((each) => Array<Fault>(Number(each.times)).fill(each));
        for (let n = 1; n <= expected.length + 2; n++)
          assert.equal(scriptedFault(faults, n), expected[n - 1]);
      }),
    );
  });

  it('never ends when its last fault is for always', () => {
    const faults = [fault({ type: 'reset' }), fault({ type: 'throttle', times: 'always' })];
    assert.equal(scriptedFault(faults, 1)?.type, 'reset');
    assert.equal(scriptedFault(faults, 1_000_000)?.type, 'throttle');
  });

  const refused: [string, unknown, string][] = [
    ['503 after commit', { type: 'status', status: 503, effect: 'committed' }, 'k[0].effect'],
    ['429 as a plain status', { type: 'status', status: 429 }, 'k[0].status'],
    ['503 as a throttle with no Retry-After', { type: 'throttle', status: 503 }, 'k[0].retryAfter'],
    ['a line break in a header', { type: 'throttle', retryAfter: '2\r\nX: y' }, 'k[0].retryAfter'],
    ['an unknown type', { type: 'explode' }, 'k[0].type'],
    ['a misspelt field', { type: 'delay', ms: 5, efect: 'none' }, 'k[0]'],
    ['a delay longer than a timer holds', { type: 'delay', ms: 2 ** 31 }, 'k[0].ms'],
  ];
  for (const [what, written, path] of refused) {
    it(`refuses ${what}, naming the place`, () => {
      const parsed = faultScriptSchema.safeParse({ k: [written] });
      assert.ok(parsed.error);
      assert.ok(z.prettifyError(parsed.error).split('\n').includes(`  → at ${path}`));
    });
  }

  it('reads the example of the docs', async () => {
    const docs = await readFile(new URL('../../docs/sample-upstream.md', import.meta.url), 'utf8');
    const example = /```json\n(.*?)```/s.exec(docs)?.[1] ?? '';
    assert.equal(Object.keys(faultScriptSchema.parse(JSON.parse(example))).length, 3);
  });

  it('refuses what would never be reached', () => {
    const parsed = faultScriptSchema.safeParse({ k: [{ type: 'reset', times: 'always' }, { type: 'hang' }] });
    assert.match(String(parsed.error), /nothing after it would be reached/);
  });
});

describe('the name of a fault', () => {
  const names: [z.input<typeof faultSchema>, string][] = [
    [{ type: 'throttle', retryAfter: '2' }, 'throttle:seconds'],
    [{ type: 'throttle', retryAfter: '0' }, 'throttle:zero'],
    [{ type: 'throttle' }, 'throttle:none'],
    [{ type: 'throttle', retryAfter: '' }, 'throttle:empty'],
    [{ type: 'throttle', retryAfter: 'soon' }, 'throttle:other'],
    [{ type: 'throttle', retryAfter: { date: 'imf', inSeconds: 2 } }, 'throttle:imf-date'],
    [{ type: 'throttle', retryAfter: { date: 'rfc850', inSeconds: 2 } }, 'throttle:rfc850-date'],
    [{ type: 'throttle', retryAfter: { date: 'asctime', inSeconds: 2 } }, 'throttle:asctime-date'],
    [{ type: 'throttle', status: 503, retryAfter: '2' }, 'throttle:503:seconds'],
    [{ type: 'status', status: 503 }, 'status:503'],
    [{ type: 'status', status: 500, effect: 'committed' }, 'status:500:committed'],
    [{ type: 'delay', ms: 1 }, 'delay'],
    [{ type: 'delay', ms: 1, effect: 'committed' }, 'delay:committed'],
    [{ type: 'hang', effect: 'committed' }, 'hang:committed'],
    [{ type: 'lostResponse' }, 'lostResponse'],
    [{ type: 'reset' }, 'reset'],
    [{ type: 'closed', forMs: 1 }, 'closed'],
  ];
  for (const [written, name] of names) {
    it(`is ${name}`, () => assert.equal(faultKind(fault(written)), name));
  }
});

describe('an HTTP-date', () => {
  it('is written in the forms of RFC 9110, by its own example', () => {
    const at = new Date(Date.UTC(1994, 10, 6, 8, 49, 37, 999));
    assert.equal(httpDate('imf', at), 'Sun, 06 Nov 1994 08:49:37 GMT');
    assert.equal(httpDate('rfc850', at), 'Sunday, 06-Nov-94 08:49:37 GMT');
    assert.equal(httpDate('asctime', at), 'Sun Nov  6 08:49:37 1994');
  });

  it('pads the day of asctime only where it has one digit', () => {
    assert.equal(httpDate('asctime', new Date(Date.UTC(2026, 7, 12))), 'Wed Aug 12 00:00:00 2026');
  });
});

describe('seeded chance', () => {
  const templates = chanceSchema.parse([
    { probability: 0.1, fault: { type: 'reset' } },
    { probability: 0.2, fault: { type: 'lostResponse' } },
  ]);
  const story = (seed: number): (string | undefined)[] =>
    Array.from({ length: 50 }, (_, i) => chanceFault(templates, seed, 'release:a:v1', i + 1)?.type);

  it('brings each fault about as often as its probability says', () => {
    const seen = { reset: 0, lostResponse: 0, none: 0 };
    for (let n = 1; n <= 100; n++) {
      for (let k = 0; k < 100; k++) {
        const type = chanceFault(templates, 7, `key-${k}`, n)?.type ?? 'none';
        assert.ok(type === 'reset' || type === 'lostResponse' || type === 'none');
        seen[type]++;
      }
    }
    // Of 10,000 draws; four standard deviations at most. The seed is fixed, so this can't flicker.
    assert.ok(Math.abs(seen.reset - 1000) < 120, `${seen.reset} resets`);
    assert.ok(Math.abs(seen.lostResponse - 2000) < 160, `${seen.lostResponse} lost responses`);
  });

  it('brings the same to an arrival of the same seed, key and number, and another to another seed', () => {
    assert.deepEqual(story(1), story(1));
    assert.notDeepEqual(story(1), story(2));
  });

  it('refuses probabilities that together exceed 1, and repetition', () => {
    const reset = { type: 'reset' };
    const tooMuch = [0.6, 0.6].map((probability) => ({ probability, fault: reset }));
    assert.match(String(chanceSchema.safeParse(tooMuch).error), /at most 1/);
    const repeated = [{ probability: 0.1, fault: { ...reset, times: 2 } }];
    assert.match(String(chanceSchema.safeParse(repeated).error), /every arrival is decided by itself/);
  });
});
