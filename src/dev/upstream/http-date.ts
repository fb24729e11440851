export const HTTP_DATE_FORMS = ['imf', 'rfc850', 'asctime'] as const;
export type HttpDateForm = (typeof HTTP_DATE_FORMS)[number];

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Writes an instant, cut to the second, in one of the three forms of an HTTP-date (RFC 9110, 5.6.7). */
export function httpDate(form: HttpDateForm, at: Date): string {
  return FORMS[form](at);
}

const FORMS: Record<HttpDateForm, (at: Date) => string> = {
  // Sun, 06 Nov 1994 08:49:37 GMT: what `toUTCString` is specified to give.
  imf: (at) => at.toUTCString(),
  // Sunday, 06-Nov-94 08:49:37 GMT
  rfc850: (at) => {
    const { day, month, year, time } = partsOf(at);
    return `${DAYS[at.getUTCDay()]}, ${day}-${month}-${year.slice(-2)} ${time} GMT`;
  },
  // Sun Nov  6 08:49:37 1994
  asctime: (at) => {
    const { dayName, day, month, year, time } = partsOf(at);
    return `${dayName} ${month} ${day.replace(/^0/, ' ')} ${time} ${year}`;
  },
};

function partsOf(at: Date): { dayName: string; day: string; month: string; year: string; time: string } {
  const [dayName = '', day = '', month = '', year = '', time = ''] = at
    .toUTCString()
    .replace(',', '')
    .split(' ');
  return { dayName, day, month, year, time };
}
