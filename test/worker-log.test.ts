import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { logToStderr } from '../src/worker-log.ts';

function written(meta: Record<string, unknown>): string {
  const stderr = mock.method(process.stderr, 'write', () => true);
  try {
    logToStderr({ level: 'ERROR', message: 'polling failed', timestampNanos: 0n, meta });
  } finally {
    stderr.mock.restore();
  }
  return stderr.mock.calls.map((call) => String(call.arguments[0])).join('');
}

test('whatever the SDK logs is written, and no line of it ends the worker', () => {
  const metas = [{}, { sdkComponent: 'core' }, { error: undefined }, { error: null, workflowId: 7 }];
  for (const meta of metas) assert.match(written(meta), /^\[ERROR\] polling failed \{[^\n]*\}\n$/);
});
