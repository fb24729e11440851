import type { Finding, Findings } from './findings.ts';

/** The line of one case. */
export interface CaseReport {
  readonly case: string;
  /** every value is within its bound */
  readonly holds: boolean;
  /** why the case could not be brought to its end; null when it could */
  readonly failed: string | null;
  /** how long it took, with starting and stopping everything */
  readonly seconds: number;
  readonly checks: Findings['checks'];
  /** values without a bound */
  readonly told: Findings['told'];
}

/** The same for a person. */
export function describeReport({ case: name, holds, failed, seconds, checks, told }: CaseReport): string {
  return [
    `${holds ? 'holds ' : 'BROKEN'} ${name} (${seconds} s)`,
    ...(failed === null ? [] : [`         ${failed}`]),
    ...Object.entries(checks).map(
      ([what, finding]) => `  ${finding.holds ? ' ' : '!'}  ${what}: ${describe(finding)}`,
    ),
    ...Object.entries(told).map(([what, value]) => `     ${what}: ${JSON.stringify(value)}`),
  ].join('\n');
}

function describe(finding: Finding): string {
  if ('atMost' in finding) return `${finding.value}, at most ${finding.atMost}`;
  if ('atLeast' in finding) return `${finding.value}, at least ${finding.atLeast}`;
  return `${finding.value}, exactly ${finding.exactly}`;
}
