import type { Admission, PublishedPage } from '../client.ts';
import { EXIT, type ExitCode } from './exit.ts';
import { table } from './print.ts';
import { writeText } from './write-line.ts';

/** What was asked for is printed while it comes, and never held as a whole, since it has no bound. */
export interface PublishAnswer {
  add(page: PublishedPage): Promise<void>;
  /** Nothing more comes, because of an error that its user is told of elsewhere. */
  breakOff(error: unknown): Promise<void>;
  end(): Promise<ExitCode>;
}

/** More rows than that nobody reads on a terminal. */
const MAX_ROWS = 100;

class Counts {
  readonly of = { accepted: 0, duplicate: 0, conflict: 0, rejected: 0, pending: 0 };
  published = 0;
  pages = 0;

  add({ admissions }: PublishedPage): void {
    this.pages += 1;
    this.published += admissions.length;
    for (const { admission } of admissions) this.of[admission] += 1;
  }

  get answered(): boolean {
    return this.of.pending === 0;
  }

  get exitCode(): ExitCode {
    if (!this.answered) return EXIT.pending;
    return this.of.rejected + this.of.conflict > 0 ? EXIT.itemsRefused : EXIT.ok;
  }
}

/** One JSON object, also when it breaks off in the middle: then `failed` says why, and `answered` is false. */
export class JsonAnswer implements PublishAnswer {
  readonly #batchId: string;
  readonly #counts = new Counts();

  constructor(batchId: string) {
    this.#batchId = batchId;
  }

  async add(page: PublishedPage): Promise<void> {
    const { batchId, workflowId, admissions } = page;
    const isFirst = this.#counts.pages === 0;
    const head = isFirst ? `${JSON.stringify({ batchId, workflowId }).slice(0, -1)},"admissions":[` : ',';
    this.#counts.add(page);
    await write(head + admissions.map((admission) => JSON.stringify(admission)).join(','));
  }

  async breakOff(error: unknown): Promise<void> {
    if (this.#counts.pages === 0) return;
    await this.#close({ answered: false, failed: error instanceof Error ? error.message : String(error) });
    sayHowFar(this.#batchId, this.#counts);
  }

  async end(): Promise<ExitCode> {
    await this.#close({ answered: this.#counts.answered });
    return this.#counts.exitCode;
  }

  async #close(end: { answered: boolean; failed?: string }): Promise<void> {
    const { pages, published, of } = this.#counts;
    await write(`],${JSON.stringify({ ...end, pages, counts: { published, ...of } }).slice(1)}\n`);
  }
}

/** For a person: every admission of one page; of more, those that were not accepted, and sums. */
export class TextAnswer implements PublishAnswer {
  readonly #batchId: string;
  readonly #counts = new Counts();
  readonly #rows: Admission[] = [];
  #left = 0;

  constructor(batchId: string) {
    this.#batchId = batchId;
  }

  async add(page: PublishedPage): Promise<void> {
    this.#counts.add(page);
    const isAll = page.page === 0 && page.whole?.pages === 1;
    const told = page.admissions.filter(
      ({ admission }) => isAll || (admission !== 'accepted' && admission !== 'pending'),
    );
    const room = isAll ? told.length : Math.max(0, MAX_ROWS - this.#rows.length);
    this.#rows.push(...told.slice(0, room));
    this.#left += Math.max(0, told.length - room);
  }

  async breakOff(): Promise<void> {
    if (this.#counts.pages > 0) sayHowFar(this.#batchId, this.#counts);
  }

  async end(): Promise<ExitCode> {
    const { pages, published, of, answered, exitCode } = this.#counts;
    const id = this.#batchId;
    const lines = this.#rows.length > 0 ? [admissionTable(this.#rows)] : [];
    if (this.#left > 0) lines.push(`… and ${this.#left} more that were not accepted; --json tells each`);
    if (pages > 1) lines.push(`${published} items on ${pages} pages: ${sums(of)}`);
    lines.push(
      answered
        ? `batch ${id}: every item is answered`
        : `batch ${id} is durable, but no worker has answered yet; publish it again, or ask: onelane batch ${id}`,
    );
    await write(`${lines.join('\n')}\n`);
    return exitCode;
  }
}

function admissionTable(admissions: readonly Admission[]): string {
  return table(
    ['#', 'key', 'admission', ''],
    admissions.map((admission) => [
      String(admission.position),
      admission.key ?? '-',
      admission.admission,
      'reason' in admission ? admission.reason : 'state' in admission ? admission.state : '',
    ]),
  );
}

function sums(of: Counts['of']): string {
  return Object.entries(of)
    .filter(([, count]) => count > 0)
    .map(([admission, count]) => `${count} ${admission}`)
    .join(', ');
}

function sayHowFar(batchId: string, { published, pages }: Counts): void {
  console.error(
    `batch ${batchId}: ${published} items, on ${pages} pages, are durable; the same command again goes on from there`,
  );
}

/**
 * Waits for a reader that is slower than we are. One that has gone away, such as `head`, does not stop the publishing in
 * the middle: it is what was asked for, and the same command again tells the same.
 */
async function write(text: string): Promise<void> {
  if (readerIsGone) return;
  await writeText(text).catch((error: Error) => {
    readerIsGone = true;
    console.error(
      `the admissions could not be written: ${error.message}; the batch is published all the same`,
    );
  });
}

let readerIsGone = false;
