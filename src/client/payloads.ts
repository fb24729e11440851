import type { Client } from '@temporalio/client';
import type { Payload } from '@temporalio/common';

/** Decodes payloads read off the service directly, as the SDK would: codecs first (encryption, say), then the converter. */
export async function decodePayloads(
  client: Client,
  payloads: readonly Payload[] | null | undefined,
): Promise<unknown[]> {
  const { payloadCodecs, payloadConverter } = client.options.loadedDataConverter;
  let decoded = [...(payloads ?? [])];
  // Encoding applied them in order, so decoding goes backwards.
  for (const codec of payloadCodecs.toReversed()) decoded = await codec.decode(decoded);
  return decoded.map((payload) => payloadConverter.fromPayload<unknown>(payload));
}
