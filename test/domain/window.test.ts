import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import {
  firingWorkflowId,
  parseFiringWorkflowId,
  parseScheduleId,
  scheduleId,
} from '../../src/domain/ids.ts';
import { fillWindow, instantText, windowTemplateFault } from '../../src/domain/window.ts';

test('the address of a source must name its window, and nothing unknown', () => {
  assert.equal(windowTemplateFault('/a?from={start}'), undefined);
  assert.equal(windowTemplateFault('/drops/{startDate}/*.{json,ndjson}'), undefined);
  assert.match(windowTemplateFault('/a?from={begin}') ?? '', /unknown placeholder \{begin\}/);
  assert.match(windowTemplateFault('/a') ?? '', /names no part of the window/);
  assert.match(windowTemplateFault('/{schedule}') ?? '', /names no part of the window/);
});

test("dates are those of the schedule's time zone, also on the days when clocks change", () => {
  assert.equal(dates('2026-03-28T23:30:00Z', 'Europe/Berlin'), '2026-03-29');
  assert.equal(dates('2026-03-29T22:30:00Z', 'Europe/Berlin'), '2026-03-30');
  assert.equal(dates('2026-10-25T22:30:00Z', 'Europe/Berlin'), '2026-10-25');
  assert.equal(dates('2026-08-12T03:00:00Z', 'America/New_York'), '2026-08-11');
});

test("any firing's workflow ID tells whose it is and of when", () => {
  const name = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/);
  const time = fc.date({ min: new Date('1970-01-01'), max: new Date('9999-12-31'), noInvalidDate: true });
  fc.assert(
    fc.property(name, time, (schedule, at) => {
      const firedAt = instantText(at.getTime());
      assert.deepEqual(parseFiringWorkflowId(firingWorkflowId(schedule, firedAt)), { schedule, firedAt });
      assert.equal(parseScheduleId(scheduleId(schedule)), schedule);
    }),
  );
  assert.equal(parseFiringWorkflowId('schedule/nightly'), undefined);
  assert.equal(parseFiringWorkflowId('batch/a-2026-08-12T17:00:00Z'), undefined);
});

function dates(start: string, timeZone: string): string {
  return fillWindow(
    '{startDate}',
    { schedule: 's', window: { start, end: start }, timeZone },
    (value) => value,
  );
}
