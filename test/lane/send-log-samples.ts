import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { SendLogContents } from '../../src/domain/audit/contents.ts';
import { type Line, readLine } from '../../src/domain/audit/lines.ts';
import { SendLogReader } from '../../src/domain/audit/log-reader.ts';
import type { EndedCall, HolderTerms, LeavingCall } from '../../src/lane/send-log.ts';

export const folder = mkdtempSync(join(tmpdir(), 'onelane-send-log-'));
after(() => rmSync(folder, { recursive: true }));

let files = 0;
export const newFile = () => join(folder, `${++files}`, 'deep', 'send.ndjson');
export const writer = { process: 'worker@here', host: 'here' };
export const terms: HolderTerms = {
  lane: 'releases',
  epoch: 3,
  holder: 'worker@here',
  limit: { requests: 5, perMs: 1_000, burst: 2, arrivalWithinMs: null },
  maxInFlight: 1,
  timeoutMs: 2_000,
};
export const leaving = (leftMs: number): LeavingCall => ({
  key: 'release:a',
  attempt: 1,
  method: 'POST',
  path: '/packages/a',
  body: '{"v":1}',
  probe: false,
  leftMs,
});
export const throttled = (endedMs: number): EndedCall => ({
  endedMs,
  verdict: 'throttled',
  end: 429,
  retryAfter: '2',
  retryAfterMs: 2_000,
});

export function read(file: string): SendLogContents {
  const reader = new SendLogReader();
  const lines = readFileSync(file, 'utf8').split('\n');
  const tail = lines.pop() ?? '';
  for (const line of lines) reader.take(line);
  return reader.end(tail);
}

/** The file's whole lines. */
export function linesOf(file: string): Line[] {
  return readFileSync(file, 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((text) => {
      const parsed = readLine(text);
      assert(parsed.ok, text);
      return parsed.line;
    });
}
