// Every function exported here becomes a workflow type.
export { dispatchBatch } from './dispatch-batch.ts';
export { deliverItem } from './deliver-item.ts';
export { lane } from './lane.ts';
export { reconcile } from './reconcile.ts';
export { publishWindow } from './publish-window.ts';
