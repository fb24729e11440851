import type { FleetCase } from '../case.ts';
import type { Arrival } from '../door.ts';
import { Fleet } from '../fleet.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { eventually } from '../until.ts';

const REPLICAS = 2;
const ITEMS = 100;
const DOWN_MS = 120_000;
const DONE_WITHIN_MS = 240_000;
/** The lane's own backoff ends here; it is how often a closed lane probes. */
const PROBE_INTERVAL_MS = 30_000;

export const outageCase: FleetCase = {
  name: 'outage',
  about: 'the upstream is down for two minutes with 100 items queued',
  alone: false,
  run: (findings, folder) => {
    const faults = { 'item:0': [{ type: 'closed' as const, forMs: DOWN_MS }] };
    return Fleet.run({ folder, replicas: REPLICAS, faults }, async (fleet) => {
      const load = new Load(fleet);
      await load.publish(ITEMS);
      const { closed, next } = await eventually('a call after the outage', DONE_WITHIN_MS, () =>
        aroundOutage(fleet),
      );
      const backMs = closed.wallMs + DOWN_MS;
      findings.check('firstCallAfterBackMs', next.wallMs - backMs, {
        atMost: PROBE_INTERVAL_MS,
      });
      await load.end(DONE_WITHIN_MS);
      await checkPromises(findings, fleet, load);
    });
  },
};

async function aroundOutage({ door }: Fleet): Promise<{ closed: Arrival; next: Arrival } | undefined> {
  let arrivals: Arrival[];
  try {
    arrivals = await door.arrivals();
  } catch {
    // Down: its log can't be read either.
    return undefined;
  }
  const at = arrivals.findIndex(({ fault }) => fault === 'closed');
  const [closed, next] = [arrivals[at], arrivals[at + 1]];
  return at >= 0 && closed && next ? { closed, next } : undefined;
}
