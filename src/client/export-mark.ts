import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type ExportMark, NOTHING_EXPORTED } from '../domain/export-mark.ts';
import { MarkRefusedError } from './errors.ts';

/** Tells the text of a mark from any other, and one way of writing it from the next. */
const FORMAT = 'onelane-mark-1';

/** Of what an export is: a mark is good for the next export of the same only. */
export interface ExportScope {
  /** the ID that the server gave it, which no other has, whatever its name */
  readonly namespaceId: string;
  readonly lane: string | null;
}

const ContentSchema = z.object({
  namespaceId: z.string(),
  lane: z.string().nullable(),
  atMs: z.number().nullable(),
  seen: z.record(z.string(), z.number()),
});

/** A mark as text without spaces, safe in a shell and in a file. Nobody but `readMark` need understand it. */
export function writeMark(mark: ExportMark, { namespaceId, lane }: ExportScope): string {
  const content: z.infer<typeof ContentSchema> = { namespaceId, lane, ...mark };
  const body = Buffer.from(JSON.stringify(content)).toString('base64url');
  return `${FORMAT}.${body}.${checksum(body)}`;
}

/**
 * Reads a mark again. Without a text the export begins with the oldest that Temporal still keeps.
 *
 * @throws MarkRefusedError when it is cut off or garbled, or of an export of something else
 */
export function readMark(text: string | null, scope: ExportScope): ExportMark {
  if (text === null) return NOTHING_EXPORTED;
  const { namespaceId, lane, atMs, seen } = contentOf(text.trim());
  if (namespaceId !== scope.namespaceId)
    throw new MarkRefusedError(
      `mark: expected one of this namespace (ID ${scope.namespaceId}), got one of another (ID ${namespaceId})`,
    );
  if (lane !== scope.lane)
    throw new MarkRefusedError(
      `mark: expected one of an export of ${ofWhat(scope.lane)}, got one of ${ofWhat(lane)}`,
    );
  return { atMs, seen };
}

function contentOf(text: string): z.infer<typeof ContentSchema> {
  const [format, body = '', sum, ...rest] = text.split('.');
  if (format !== FORMAT)
    throw new MarkRefusedError(
      `mark: expected a text that begins with "${FORMAT}.", as the last line of an export has it, ` +
        `got ${JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)}`,
    );
  if (rest.length > 0 || sum !== checksum(body))
    throw new MarkRefusedError('mark: expected it whole, got one that was cut off or changed on its way');
  return ContentSchema.parse(JSON.parse(Buffer.from(body, 'base64url').toString()));
}

function checksum(body: string): string {
  return createHash('sha256').update(`${FORMAT}.${body}`).digest('hex').slice(0, 12);
}

function ofWhat(lane: string | null): string {
  return lane === null ? 'all lanes' : `lane "${lane}"`;
}
