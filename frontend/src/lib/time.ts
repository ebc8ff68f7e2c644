/** Formatting of instants and durations, in local time or UTC. */
import { createStore } from './store';

export type Zone = 'local' | 'utc';

const KEY = 'shardboard.zone';

function storedZone(): Zone {
  try {
    return localStorage.getItem(KEY) === 'utc' ? 'utc' : 'local';
  } catch {
    return 'local';
  }
}

export const zoneStore = createStore<Zone>(storedZone());

export function setZone(zone: Zone): void {
  zoneStore.set(zone);
  try {
    localStorage.setItem(KEY, zone);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}

let offset = 0;

/** Set the difference between the console's clock and the browser's clock, so that texts and charts show the same times. */
export function setClockOffset(milliseconds: number): void {
  offset = milliseconds;
}

/** Return the current time of the console's clock in epoch milliseconds. */
export const consoleNow = (): number => Date.now() + offset;

/** Return the name of a time zone. Unlike the offset from UTC, it applies to all times of a year. */
export const zoneName = (zone: Zone): string =>
  zone === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;

const pad = (value: number): string => String(value).padStart(2, '0');

/** 14:03:07 */
export function clock(ms: number, zone: Zone): string {
  const date = new Date(ms);
  return zone === 'utc'
    ? `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`
    : `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
}

/** 14:03:07.250 */
export const clockMs = (ms: number, zone: Zone): string =>
  `${clock(ms, zone)}.${String(Math.floor(ms) % 1000).padStart(3, '0')}`;

/** 2026-03-01 14:03:07 UTC */
export const formatDateTime = (ms: number, zone: Zone): string => dayAnd(ms, zone, clock);

/** 2026-03-01 14:03:07.250 UTC */
export const formatDateTimeMs = (ms: number, zone: Zone): string => dayAnd(ms, zone, clockMs);

function dayAnd(ms: number, zone: Zone, time: typeof clock): string {
  const date = new Date(ms);
  const day =
    zone === 'utc'
      ? `${date.getUTCFullYear()}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`
      : `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${time(ms, zone)}${zone === 'utc' ? ' UTC' : ''}`;
}

/** 41 s · 2 min 3 s · 1 h 4 min · 3 d 2 h */
export function duration(seconds: number): string {
  const total = Math.max(0, Math.round(seconds));
  const units: [number, string][] = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  const first = units.findIndex(([size]) => total >= size);
  if (first === -1) return '0\u00a0s';
  const [size, name] = units[first] ?? [1, 's'];
  const major = `${Math.floor(total / size)}\u00a0${name}`;
  const next = units[first + 1];
  if (!next) return major;
  const minor = Math.floor((total % size) / next[0]);
  return minor ? `${major} ${minor}\u00a0${next[1]}` : major;
}

/** Like `duration`, but more precise below ten seconds: 0.39 s · 4.2 s · 41 s · 2 min 3 s */
export function formatPreciseDuration(seconds: number): string {
  const known = Math.max(0, seconds);
  if (known < 0.995) return `${Number(known.toFixed(2))}\u00a0s`;
  return known < 9.95 ? `${Number(known.toFixed(1))}\u00a0s` : duration(known);
}

export function ago(ms: number, now: number): string {
  const seconds = (now - ms) / 1000;
  if (seconds < 2) return 'just now';
  const text = duration(seconds);
  // One unit is enough beyond a minute: "3 min ago", not "3 min 12 s ago".
  return `${text.split(' ')[0]} ago`;
}
