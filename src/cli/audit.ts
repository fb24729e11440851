import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { type AuditReport, audit } from '../domain/audit.ts';
import { parseDuration } from '../domain/duration.ts';
import { describeAudit, describeDoctored } from './audit-text.ts';
import { EXIT } from './exit.ts';
import { print } from './print.ts';
import { type DoctoredFile, readSendLogs } from './read-send-logs.ts';

const flagsSchema = z.object({ json: z.boolean().optional(), clockSkew: z.number() });

/** What `onelane audit` answers. A doctored file proves nothing, so then there is no report at all. */
export interface AuditAnswer {
  readonly clean: boolean;
  readonly doctored: readonly DoctoredFile[];
  /** files whose last line a killed process could not finish */
  readonly torn: readonly { readonly file: string; readonly line: number }[];
  readonly report: AuditReport | null;
}

/** `onelane audit FILE...`: whether the lanes kept their promises. */
export function auditCommand(): Command {
  return new Command('audit')
    .description('prove or disprove, from the send logs of all replicas, that the lanes kept their promises')
    .argument('<file...>', 'the send log of every process that held a lane')
    .option(
      '--clock-skew <duration>',
      'how far apart the clocks of two hosts may be: what that could explain is no violation',
      skewArgument,
      0,
    )
    .option('--json', 'print one JSON object')
    .action(async (files: string[], options: unknown) => run(files, flagsSchema.parse(options)));
}

async function run(
  files: readonly string[],
  { json, clockSkew: clockSkewMs }: z.infer<typeof flagsSchema>,
): Promise<void> {
  const { logs, doctored } = await readSendLogs(files);
  const contents = logs.map((log) => log.contents);
  const report = doctored.length > 0 ? null : audit(contents, { clockSkewMs });
  const torn = logs.flatMap(({ file, contents: { tornLine } }) =>
    tornLine === null ? [] : [{ file, line: tornLine }],
  );
  const answer: AuditAnswer = { clean: report?.clean ?? false, doctored, torn, report };
  print(json, answer, () => (report === null ? describeDoctored(doctored) : describeAudit(report, torn)));
  process.exitCode = answer.clean ? EXIT.ok : EXIT.failed;
}

/** Milliseconds. */
function skewArgument(text: string): number {
  if (/^0(?:ms|s)$/.test(text)) return 0;
  try {
    return parseDuration(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}
