import { SearchAttributeType, defineSearchAttributeKey } from '@temporalio/common';

/** Search attributes by which the Temporal UI filters. Registered by whoever sets up the namespace. */
export const ONELANE_LANE = defineSearchAttributeKey('OnelaneLane', SearchAttributeType.KEYWORD);
export const ONELANE_BATCH = defineSearchAttributeKey('OnelaneBatch', SearchAttributeType.KEYWORD);
/** Set at the start, and changed only when an item parks or leaves the park: each change costs an event. */
export const ONELANE_STATE = defineSearchAttributeKey('OnelaneState', SearchAttributeType.KEYWORD);
/** Since when it is parked, by the server's clock. Changed together with the state; null once it has left the park. */
export const ONELANE_PARKED_AT = defineSearchAttributeKey('OnelaneParkedAt', SearchAttributeType.DATETIME);
