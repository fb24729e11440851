import { setTimeout as sleep } from 'node:timers/promises';
import { type FleetCase, TAKEOVER_MS } from '../case.ts';
import type { Arrival } from '../door.ts';
import { Fleet } from '../fleet.ts';
import type { Findings } from '../findings.ts';
import { Load } from '../load.ts';
import { checkPromises } from '../promises.ts';
import { nextAfter, takeover } from '../takeover.ts';
import { eventually } from '../until.ts';

const REPLICAS = 3;
const KILLS = 4;
const KILL_EVERY_MS = 40_000;
const DONE_WITHIN_MS = 120_000;
/** Longer than a takeover takes, so that the next call waits for it: `TAKEOVER_MS` and the lease are 9 s. */
const RETRY_AFTER_S = 12;
/** Early, while the door's log is so short that it can be looked at every few milliseconds. */
const THROTTLED_ITEM = 15;
/** From the moment at which a lane opens to its first call's arrival. */
const OPENING_MS = 1_000;

export const killCase: FleetCase = {
  name: 'kill',
  about: 'SIGKILL of the holder every 40 s, four times, the first right after a 429 with Retry-After',
  alone: false,
  run: (findings, folder) => {
    const faults = {
      [`item:${THROTTLED_ITEM}`]: [
        { type: 'throttle' as const, retryAfter: String(RETRY_AFTER_S), everybody: true },
      ],
    };
    return Fleet.run({ folder, replicas: REPLICAS, faults }, async (fleet) => {
      const load = new Load(fleet);
      load.feed(100, 50);
      await killAtThrottle(findings, fleet);
      for (let n = 2; n <= KILLS; n++) {
        const restarted = Date.now();
        await fleet.startReplica();
        await sleep(Math.max(0, KILL_EVERY_MS - (Date.now() - restarted)));
        // Kills hit different moments between two calls, which are 100 ms apart.
        const { nextCallAfterMs } = await takeover(fleet, n * 23, ({ replica }) => replica.kill());
        findings.check(`nextCallAfterMs.${n}`, nextCallAfterMs, {
          atMost: fleet.terms.leaseMs + TAKEOVER_MS,
        });
      }
      await load.end(DONE_WITHIN_MS);
      await checkPromises(findings, fleet, load);
    });
  },
};

async function killAtThrottle(findings: Findings, fleet: Fleet): Promise<void> {
  // Known beforehand, so that it is killed before it can tell anybody of the 429, if that can be done at all.
  const holder = await fleet.held();
  const throttled = await eventually('the 429', 60_000, () => throttledCall(fleet), 2);
  const killedMs = Date.now();
  await holder.replica.kill();
  const opensMs = throttled.wallMs + RETRY_AFTER_S * 1_000;
  const { nextCallAfterMs } = await nextAfter(fleet, holder, killedMs);
  findings.check('nextCallAfterMs.1', nextCallAfterMs, {
    atMost: Math.max(fleet.terms.leaseMs + TAKEOVER_MS, opensMs - killedMs + OPENING_MS),
  });
  const arrivals = await fleet.door.arrivals();
  const early = arrivals.filter(({ wallMs }) => wallMs > throttled.wallMs && wallMs < opensMs);
  findings.check('earlyProbes', early.length, { atMost: 1 });
  findings.tell('killedAfter429Ms', killedMs - answeredMs(throttled));
}

async function throttledCall(fleet: Fleet): Promise<Arrival | undefined> {
  return (await fleet.door.arrivals()).find(({ status }) => status === 429);
}

function answeredMs({ wallMs, monotonicMs, endedMs }: Arrival): number {
  return wallMs + (endedMs ?? monotonicMs) - monotonicMs;
}
