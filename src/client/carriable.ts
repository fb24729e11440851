import { jsonFault } from '../domain/json.ts';

/** An item that JSON would silently change on its way is replaced by what is wrong with it, and answered so. */
export function carriable(item: unknown): unknown {
  const fault = jsonFault(item, 'item');
  return fault === undefined ? item : { unreadable: fault.replace(/^item\.(?=.)/, ''), ...givenKey(item) };
}

/** The key that an item brings along, whatever else is wrong with it. */
export function givenKey(item: unknown): { key?: string } {
  if (typeof item !== 'object' || item === null || !('key' in item) || typeof item.key !== 'string')
    return {};
  return jsonFault(item.key, 'key') === undefined ? { key: item.key.slice(0, 255) } : {};
}
