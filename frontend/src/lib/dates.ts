/** Formatting of calendar dates, intervals and date fields, in local time or UTC. */
import { clock, type Zone } from './time';

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');

/** 3 Mar */
export function day(ms: number, zone: Zone): string {
  const date = new Date(ms);
  return zone === 'utc'
    ? `${date.getUTCDate()}\u00a0${MONTHS[date.getUTCMonth()]}`
    : `${date.getDate()}\u00a0${MONTHS[date.getMonth()]}`;
}

/** 3 Mar · 3 Mar 2026 */
export function dated(ms: number, zone: Zone, withYear: boolean): string {
  return withYear ? `${day(ms, zone)}\u00a0${year(ms, zone)}` : day(ms, zone);
}

export function year(ms: number, zone: Zone): number {
  const date = new Date(ms);
  return zone === 'utc' ? date.getUTCFullYear() : date.getFullYear();
}

/** Format the interval of `step` seconds that starts at `second`: 14:03:07 · 3 Mar 14:05–14:10 · 3 Mar–10 Mar */
export function interval(second: number, step: number, zone: Zone): string {
  const from = second * 1000;
  const to = from + step * 1000;
  if (step === 1) return clock(from, zone);
  if (step >= 7 * 86_400) return `${day(from, zone)}–${day(to, zone)}`;
  const [start, end] = [clock(from, zone), clock(to, zone)];
  return step < 60
    ? `${start}–${end.slice(6)}`
    : `${day(from, zone)} ${start.slice(0, 5)}–${end.slice(0, 5)}`;
}

/** The value of a `datetime-local` field: 2026-03-01T14:03:07 */
export function toField(ms: number, zone: Zone): string {
  const shift = zone === 'utc' ? 0 : new Date(ms).getTimezoneOffset() * 60_000;
  return new Date(ms - shift).toISOString().slice(0, 19);
}

/** Parse the value of a date field into epoch milliseconds; NaN if it is not a date. */
export function fromField(text: string, zone: Zone): number {
  return Date.parse(zone === 'utc' ? `${text}Z` : text);
}
