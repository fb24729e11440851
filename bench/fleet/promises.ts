import { checkAudit } from './audit.ts';
import type { Findings } from './findings.ts';
import type { Fleet } from './fleet.ts';
import type { Load } from './load.ts';

/** What must hold at the end of every case, whatever was done to the fleet: at the door, in the logs, in the books. */
export async function checkPromises(findings: Findings, fleet: Fleet, load: Load): Promise<void> {
  const { door } = fleet;
  const stats = await door.stats();
  findings.check('maxInAnyWindow', stats.maxInAnyWindow, { atMost: door.quota.requests });
  findings.check('maxInFlight', stats.maxInFlight, { atMost: 1 });
  findings.check('unscripted429', stats.status429 - stats.scripted429, { exactly: 0 });
  findings.check('keysWithTwoEffects', stats.keysWithTwoEffects, { exactly: 0 });
  findings.tell('calls', stats.arrivals);
  await load.checkAccount(findings);
  await checkAudit(findings, fleet);
}
