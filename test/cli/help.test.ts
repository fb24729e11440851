import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Command } from 'commander';
import { apiCommand } from '../../src/cli/api.ts';
import { scheduleCommand } from '../../src/cli/schedule.ts';
import { upstreamCommand } from '../../src/cli/upstream.ts';
import { workerCommand } from '../../src/cli/worker.ts';

test('a default is shown as it would be written, not as it is kept', () => {
  const commands = [apiCommand(), scheduleCommand(), upstreamCommand(), workerCommand()].flatMap(
    withThoseBelow,
  );
  const options = commands.flatMap((command) => command.options.map((option) => ({ command, option })));
  assert.ok(options.length > 20);
  for (const { command, option } of options) {
    const { defaultValue, defaultValueDescription, parseArg } = option;
    // What is parsed is kept as something else than what is written, but for whole numbers.
    const isShownAsKept = defaultValue !== undefined && defaultValueDescription === undefined;
    if (isShownAsKept && parseArg !== undefined)
      assert.equal(
        parseArg(String(defaultValue), undefined),
        defaultValue,
        `${command.name()} ${option.long}`,
      );
  }
});

function withThoseBelow(command: Command): Command[] {
  return [command, ...command.commands.flatMap(withThoseBelow)];
}
