/** `onelane/testing`: onelane in your own tests, with time that passes without waiting. See docs/library.md. */
export { type TestStage, type TestStageOptions, startTestStage } from '../testing/stage.ts';
export { type SampleUpstreamOptions, startSampleUpstream } from '../testing/sample-upstream.ts';
export type { ArrivalRecord, EffectRecord } from '../dev/upstream/records.ts';
export type { Upstream as SampleUpstream } from '../dev/upstream/server.ts';
export type { FunctionLane, HttpLane, Lanes } from './lanes.ts';
export {
  laneFault,
  refused,
  succeeded,
  throttled,
  unavailable,
  type UpstreamAnswer,
} from '../lane/answers.ts';
export type {
  UpstreamCall,
  UpstreamFunction,
  UpstreamLookup,
  UpstreamLookupCall,
} from '../lane/function-upstream.ts';
