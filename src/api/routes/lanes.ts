import { z } from 'zod';
import { laneStatuses, operateLane } from '../../client.ts';
import type { LaneRecord } from '../../domain/lane-record.ts';
import { MOST_IN_FLIGHT, MOST_REQUESTS } from '../../workflows/lane-messages.ts';
import type { Named } from '../../workflows/named.ts';
import type { TypedApi } from '../app.ts';
import { mustBeExact } from '../json-body.ts';
import { LaneAnswerSchema, LaneRecordSchema } from '../lane-answers.ts';
import { problemResponses } from '../problems.ts';
import { ANSWERED_WITHIN_MS, ReasonSchema, type RouteContext } from './context.ts';

const LaneParamsSchema = z.object({
  lane: z
    .string()
    .min(1)
    .max(255)
    .describe('its full name, percent-encoded, e.g. `releases%2Facme` for a partition'),
});
const ActBodySchema = z.strictObject({ reason: ReasonSchema });
const limitOf = (most: number) =>
  z.int().min(1).max(most).nullable().default(null).describe('null: as configured');
const OverrideBodySchema = ActBodySchema.extend({
  requests: limitOf(MOST_REQUESTS),
  maxInFlight: limitOf(MOST_IN_FLIGHT),
}).describe('both null: no override any more');

export function laneRoutes(app: TypedApi, { client }: RouteContext): void {
  app.get(
    '/v1/lanes',
    {
      config: { scope: 'read' },
      schema: {
        tags: ['lanes'],
        summary: 'Every open lane: its holder, its pace, and its backlog',
        querystring: z.strictObject({}),
        response: { 200: z.object({ lanes: z.array(LaneAnswerSchema) }), ...problemResponses(400) },
      },
    },
    async ({ caller }) => {
      const lanes = await client.withDeadline(Date.now() + ANSWERED_WITHIN_MS, () => laneStatuses(client));
      return { lanes: lanes.filter(({ name }) => caller.may('read', name)) };
    },
  );

  act('pause', 'Pause a lane: when it answers, no call is open and none leaves', operateLane.pause);
  act('resume', 'Resume a lane, and start its counters again', operateLane.resume);
  act('drain', 'Take nothing in any more; what is there goes on. Not undone', operateLane.drain);

  function act(
    name: 'pause' | 'resume' | 'drain',
    summary: string,
    operate: (client: RouteContext['client'], lane: string, act: Named) => Promise<LaneRecord>,
  ): void {
    app.post(
      `/v1/lanes/:lane/${name}`,
      {
        config: { scope: 'operate' },
        schema: { ...actSchema, summary, body: ActBodySchema },
      },
      ({ caller, params: { lane }, body: { reason }, bodyText }) => {
        mustBeExact({ bodyText });
        caller.mustBeAllowedTo('operate', lane);
        return operate(client, lane, { by: caller.name, reason });
      },
    );
  }

  app.post(
    '/v1/lanes/:lane/override',
    {
      config: { scope: 'operate' },
      schema: {
        ...actSchema,
        summary: "Give a lane other limits than its configuration's, or take them back",
        body: OverrideBodySchema,
      },
    },
    ({ caller, params: { lane }, body: { reason, requests, maxInFlight }, bodyText }) => {
      mustBeExact({ bodyText });
      caller.mustBeAllowedTo('operate', lane);
      const named = { by: caller.name, reason };
      if (requests === null && maxInFlight === null) return operateLane.clearOverride(client, lane, named);
      return operateLane.override(client, lane, { ...named, requests, maxInFlight });
    },
  );
}

const actSchema = {
  tags: ['lanes'],
  params: LaneParamsSchema,
  querystring: z.strictObject({}),
  response: {
    200: LaneRecordSchema.describe('It holds for the whole fleet'),
    ...problemResponses(400, 404, 409, 413, 415),
  },
};
