import { Draw } from './draw.ts';
import { gatherFacts } from './facts.ts';
import { operate } from './operator.ts';
import { type LanePlan, planOf } from './plan.ts';
import { publishLane } from './publishing.ts';
import { reportOf } from './report.ts';
import { Stage } from './stage.ts';
import { strikeAll } from './strikes.ts';

export interface Asked {
  readonly items: number;
  readonly seed: number;
  readonly kills: number;
}

/** Publishes, kills, drains, does what is left to a person, and accounts for all of it. */
export async function runAccounting(folder: string, { items, seed, kills }: Asked) {
  const plans = planOf(seed, items);
  return await Stage.run(folder, seed, plans, async (stage) => {
    const [struck, { answered, operated }] = await Promise.all([
      strikeAll(stage, new Draw(seed, 'kills'), kills, items),
      play(stage, plans),
    ]);
    const { contradictions, ...done } = operated;
    const facts = await gatherFacts(stage, answered, contradictions);
    return { kills: struck, operated: done, ...reportOf(facts) };
  });
}

async function play(stage: Stage, plans: readonly LanePlan[]) {
  const answered = (await Promise.all(plans.map((plan) => publishLane(stage, plan)))).flat();
  const operated = await operate(
    stage,
    answered.map(({ planned }) => planned),
  );
  return { answered, operated };
}
