import { execFile } from 'node:child_process';
import { z } from 'zod';
import type { Findings } from './findings.ts';
import type { Fleet } from './fleet.ts';
import { MAIN } from './program.ts';

const checkSchema = z.object({ found: z.number(), violations: z.array(z.object({ says: z.string() })) });
const answerSchema = z.object({
  clean: z.boolean(),
  doctored: z.array(z.unknown()),
  report: z.object({
    lanes: z.array(
      z.object({
        lane: z.string(),
        calls: z.number(),
        mostInAnyWindow: z.number(),
        mostOpen: z.number(),
        epochsWithoutLog: z.number(),
        earlyProbes: z.array(z.unknown()),
        meanLatencyMs: z.number().nullable(),
        shareOfReachable: z.number().nullable(),
        checks: z.record(z.string(), checkSchema),
      }),
    ),
    sameBytes: checkSchema,
  }),
});
type Audit = z.infer<typeof answerSchema>;
type LaneAudit = Audit['report']['lanes'][number];

/** What `onelane audit` says of the send logs of all replicas that there ever were; it must agree with the door. */
export async function checkAudit(findings: Findings, fleet: Fleet): Promise<void> {
  const audit = await auditOf(fleet.sendLogs);
  const { doctored, report } = audit;
  const checks = checksOf(audit);
  const says = violationsIn(audit);
  findings.check('audit.doctored', doctored.length, { exactly: 0 });
  findings.check(
    'audit.violations',
    total(checks, ({ found }) => found),
    { exactly: 0 },
  );
  if (says.length > 0) findings.tell('audit.says', says.slice(0, 5));
  findings.check(
    'audit.earlyProbes',
    total(report.lanes, (lane) => lane.earlyProbes.length),
    { atMost: 1 },
  );
  findings.check('audit.mostOpen', Math.max(...report.lanes.map(({ mostOpen }) => mostOpen)), { atMost: 1 });
  // Beside a lost file: a hold that was ordered and never taken up.
  const epochsWithoutLog = total(report.lanes, (lane) => lane.epochsWithoutLog);
  findings.tell('audit.epochsWithoutLog', epochsWithoutLog);
  findings.tell(
    'audit.calls',
    total(report.lanes, ({ calls }) => calls),
  );
}

/** The rate from the first call to the last, as a part of `requests / (per + mean latency)`, latency being answered - left. */
export async function loggedShare(
  fleet: Fleet,
): Promise<Pick<LaneAudit, 'shareOfReachable' | 'meanLatencyMs'>> {
  const { report } = await auditOf(fleet.sendLogs);
  const [lane] = report.lanes;
  if (lane === undefined) throw new Error('expected one lane in the send logs, got none');
  return lane;
}

/** What `onelane audit` says of these send logs. */
export async function auditOf(sendLogs: readonly string[]): Promise<Audit> {
  return answerSchema.parse(JSON.parse(await runAudit(sendLogs)));
}

/** Each in a sentence, as far as the audit tells them one by one. */
export function violationsIn(audit: Audit): string[] {
  return checksOf(audit).flatMap(({ violations }) => violations.map(({ says }) => says));
}

function checksOf({ report }: Audit) {
  return report.lanes.flatMap((lane) => Object.values(lane.checks)).concat(report.sameBytes);
}

function runAudit(files: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const args = [MAIN, 'audit', ...files, '--json'];
    execFile(process.execPath, args, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      // It exits non-zero for what is not clean, and prints all the same.
      if (stdout !== '') resolve(stdout);
      else reject(new Error(`onelane audit: ${stderr || error?.message}`));
    });
  });
}

function total<T>(members: readonly T[], count: (member: T) => number): number {
  return members.reduce((sum, member) => sum + count(member), 0);
}
