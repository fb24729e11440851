/** What a value must be. All of these are numbers with the unit that the value's name says. */
export type Bound = { readonly atMost: number } | { readonly atLeast: number } | { readonly exactly: number };

export type Finding = { readonly value: number } & Bound & { readonly holds: boolean };

/** What one case found: values that have a bound, and values that are only told. */
export class Findings {
  readonly checks: { [name: string]: Finding } = {};
  readonly told: { [name: string]: unknown } = {};

  check(name: string, value: number, bound: Bound): void {
    // Rounded for the eye only after it was compared.
    this.checks[name] = { value: rounded(value), ...bound, holds: isWithin(value, bound) };
  }

  tell(name: string, value: unknown): void {
    this.told[name] = typeof value === 'number' ? rounded(value) : value;
  }

  get hold(): boolean {
    return Object.values(this.checks).every(({ holds }) => holds);
  }
}

/** NaN is within no bound. */
function isWithin(value: number, bound: Bound): boolean {
  if ('atMost' in bound) return value <= bound.atMost;
  if ('atLeast' in bound) return value >= bound.atLeast;
  return value === bound.exactly;
}

function rounded(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
