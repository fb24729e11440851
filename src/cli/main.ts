#!/usr/bin/env node
import { readFileSync } from 'node:fs';
import { NamespaceNotFoundError } from '@temporalio/client';
import { Command } from 'commander';
import { z } from 'zod';
import {
  BatchIdTakenError,
  BatchRefusedError,
  ItemRefusedError,
  LaneRefusedError,
  MarkRefusedError,
  NotFoundError,
  NotStoredError,
  ScheduleRefusedError,
  UnansweredError,
} from '../client.ts';
import { TemporalConfigError, TemporalUnreachableError } from '../connection.ts';
import { GRPC, grpcCodeOf, grpcDetailsOf } from '../grpc.ts';
import { MissingNamespaceError, NamespaceNotReadyError, SetupRefusedError } from '../namespace.ts';
import { apiCommand } from './api.ts';
import { auditCommand } from './audit.ts';
import { batchCommand } from './batch.ts';
import { deadCommand } from './dead.ts';
import { demoCommand } from './demo.ts';
import { devCommand } from './dev.ts';
import { CliError, EXIT, type ExitCode } from './exit.ts';
import { exportCommand } from './export.ts';
import { itemCommand } from './item.ts';
import { keysCommand } from './keys.ts';
import { laneCommand } from './lane.ts';
import { lanesCommand } from './lanes.ts';
import { publishCommand } from './publish.ts';
import { reconcileCommand } from './reconcile.ts';
import { scheduleCommand } from './schedule.ts';
import { setupCommand } from './setup.ts';
import { upstreamCommand } from './upstream.ts';
import { workerCommand } from './worker.ts';

const program = new Command('onelane')
  .description('sends every item of a batch to one quota-limited API, once, at the pace that the API allows')
  .version(versionOf(new URL('../../package.json', import.meta.url)))
  .addHelpText(
    'after',
    `
Temporal is found by TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE and the rest of Temporal's environment configuration; without
it, the \`onelane dev\` of this folder.

Exit codes: 0 done; 1 unforeseen, or a promise did not hold; 2 wrong arguments or an unusable file, nothing was done;
3 some items were rejected, in conflict, or did not do what was asked; 4 durable, not answered yet; 5 nothing is known
under this name; 6 Temporal can't be reached.`,
  )
  .exitOverride()
  .addCommand(demoCommand())
  .addCommand(devCommand())
  .addCommand(setupCommand())
  .addCommand(workerCommand())
  .addCommand(apiCommand())
  .addCommand(keysCommand())
  .addCommand(upstreamCommand())
  .addCommand(publishCommand())
  .addCommand(batchCommand())
  .addCommand(itemCommand())
  .addCommand(deadCommand())
  .addCommand(lanesCommand())
  .addCommand(laneCommand())
  .addCommand(reconcileCommand())
  .addCommand(exportCommand())
  .addCommand(auditCommand())
  .addCommand(scheduleCommand());

// Commander hands this on to subcommands that it makes itself, not to those that it is given.
for (const command of program.commands) command.exitOverride();

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = fail(error);
}

function versionOf(packageJson: URL): string {
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(packageJson, 'utf8'))).version;
}

/** Says what went wrong on stderr, with a stack only where nobody foresaw it. */
function fail(error: unknown): ExitCode {
  const exitCode = exitCodeOf(error);
  if (exitCode === EXIT.failed && !(error instanceof CliError)) console.error(error);
  else if (error instanceof Error && !isCommanderError(error)) console.error(`onelane: ${messageOf(error)}`);
  return exitCode;
}

/** The SDK's own words name what it called, and not what is wrong. */
function messageOf(error: Error): string {
  if (!isAway(error)) return error.message;
  return `Temporal does not answer any more (${grpcDetailsOf(error)}); run the same command again once it does`;
}

function exitCodeOf(error: unknown): ExitCode {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof TemporalUnreachableError || error instanceof NotStoredError || isAway(error))
    return EXIT.unreachable;
  if (error instanceof NotFoundError) return EXIT.notFound;
  if (error instanceof UnansweredError) return EXIT.pending;
  if (
    error instanceof BatchRefusedError ||
    error instanceof BatchIdTakenError ||
    error instanceof ItemRefusedError ||
    error instanceof LaneRefusedError ||
    error instanceof MarkRefusedError ||
    error instanceof ScheduleRefusedError ||
    error instanceof TemporalConfigError ||
    error instanceof NamespaceNotReadyError ||
    error instanceof MissingNamespaceError ||
    error instanceof NamespaceNotFoundError ||
    error instanceof SetupRefusedError
  )
    return EXIT.usage;
  if (isCommanderError(error)) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  return EXIT.failed;
}

/** Temporal went away in the middle. */
function isAway(error: unknown): boolean {
  const code = grpcCodeOf(error);
  return code === GRPC.unavailable || code === GRPC.deadlineExceeded;
}

/** Commander has printed these itself: help, a version, or how its arguments were meant. */
function isCommanderError(error: unknown): error is Error & { exitCode: number } {
  return (
    error instanceof Error &&
    'code' in error &&
    String(error.code).startsWith('commander.') &&
    'exitCode' in error
  );
}
