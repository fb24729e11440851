import type { FleetCase } from '../case.ts';
import { continueAsNewCase } from './continue-as-new.ts';
import { cutCase } from './cuts.ts';
import { defaultLeaseCases } from './default-lease.ts';
import { freezeCase } from './freeze.ts';
import { killCase } from './kills.ts';
import { longWindowCase } from './long-window.ts';
import { outageCase } from './outage.ts';
import { partitionsCase } from './partitions.ts';
import { rollingCase } from './rolling.ts';
import { throughputCases } from './throughput.ts';

/** In the order in which they are started; of those that run beside others, the long ones first. */
export const CASES: readonly FleetCase[] = [
  ...throughputCases,
  partitionsCase,
  cutCase,
  longWindowCase,
  outageCase,
  killCase,
  ...defaultLeaseCases,
  freezeCase,
  rollingCase,
  continueAsNewCase,
];
