/** Formatting of numbers with three significant digits and a unit; an en dash for unknown values. */

export type Unit =
  | 'ops'
  | 'perSecond'
  | 'count'
  | 'bytes'
  | 'bytesPerSecond'
  | 'ratio'
  | 'ms'
  /** Microseconds, formatted as milliseconds or seconds, so that values are easy to compare. */
  | 'latency'
  /** Microseconds, formatted in the unit that fits each value. */
  | 'microseconds'
  | 'cores'
  | 'plain';

export const UNKNOWN = '–';
const SPACE = '\u00a0';
const DECIMAL = ['', 'k', 'M', 'G', 'T'];
const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

const SUFFIX: Record<Unit, string> = {
  ops: 'ops/s',
  perSecond: '/s',
  count: '',
  bytes: 'B',
  bytesPerSecond: 'B/s',
  ratio: '%',
  ms: 'ms',
  latency: 'µs',
  microseconds: 'µs',
  cores: 'cores',
  plain: '',
};

export function isKnown(value: number | null | undefined): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

const DECIMALS = 3;
const SMALLEST = 10 ** -DECIMALS;

/** Round to three significant digits and at most three decimals, without trailing zeros. The integer part is never rounded; its digits are grouped. */
export function roundSignificant(value: number): string {
  const size = Math.abs(value);
  if (size >= 100) return Math.round(value).toLocaleString('en-US');
  if (size > 0 && size < SMALLEST / 2) return `<${SMALLEST}`;
  return String(Number(Number(value.toPrecision(3)).toFixed(DECIMALS)));
}

interface Scale {
  divisor: number;
  prefix: string;
}

/** Return the scale that puts `value` below the base after rounding: 999.6 becomes 1 k. */
export function scaleFor(value: number, unit: Unit): Scale {
  const binary = unit === 'bytes' || unit === 'bytesPerSecond';
  const base = binary ? 1024 : 1000;
  const names = binary ? BINARY : DECIMAL;
  if (!binary && unit !== 'ops' && unit !== 'perSecond' && unit !== 'count' && unit !== 'plain') {
    return { divisor: 1, prefix: '' };
  }
  let power = 0;
  let divisor = 1;
  while (power < names.length - 1 && Math.round(Math.abs(value) / divisor) >= base) {
    power += 1;
    divisor *= base;
  }
  return { divisor, prefix: names[power] ?? '' };
}

const isLatency = (unit: Unit) => unit === 'latency' || unit === 'microseconds';

/** Return the scale of a latency after rounding: 999.6 ms is 1 s. */
function latencyScale(value: number, unit: Unit): Scale {
  const size = Math.abs(value);
  if (size < 999.5 && unit === 'microseconds') return { divisor: 1, prefix: 'µs' };
  return size < 999_500 ? { divisor: 1e3, prefix: 'ms' } : { divisor: 1e6, prefix: 's' };
}

function withUnit(value: string, prefix: string, unit: Unit): string {
  if (unit === 'bytes') return value + SPACE + prefix;
  if (unit === 'bytesPerSecond') return `${value}${SPACE}${prefix}/s`;
  const suffix = SUFFIX[unit];
  if (unit === 'perSecond') return `${value}${prefix ? SPACE + prefix : ''}${SPACE}${suffix}`;
  return [value, prefix, suffix].filter(Boolean).join(SPACE);
}

export function format(unit: Unit, value: number | null | undefined): string {
  if (!isKnown(value)) return UNKNOWN;
  if (unit === 'ratio') return roundSignificant(value * 100) + SUFFIX.ratio;
  if (isLatency(unit)) {
    const { divisor, prefix } = latencyScale(value, unit);
    return roundSignificant(value / divisor) + SPACE + prefix;
  }
  if (unit === 'ms' && Math.abs(value) >= 1000) return `${roundSignificant(value / 1000)}${SPACE}s`;
  const { divisor, prefix } = scaleFor(value, unit);
  return withUnit(roundSignificant(value / divisor), prefix, unit);
}

/** Format without the unit that a heading already shows: "94.2 k", "1.8 MiB", "97%". */
export function formatWithoutUnit(unit: Unit, value: number | null | undefined): string {
  if (unit === 'ops' || unit === 'perSecond') return format('count', value);
  if (unit === 'bytesPerSecond') return format('bytes', value);
  if (unit === 'cores') return format('plain', value);
  if (unit === 'latency' && isKnown(value)) return roundSignificant(value / 1000);
  if (unit === 'ms' && isKnown(value)) return roundSignificant(value);
  return format(unit, value);
}

/** Return the unit that `formatWithoutUnit` omits. */
export function unitLabel(unit: Unit): string {
  if (unit === 'bytesPerSecond') return 'per second';
  if (unit === 'perSecond') return 'per second';
  if (unit === 'latency') return SUFFIX.ms;
  return unit === 'ops' || unit === 'cores' || unit === 'ms' ? SUFFIX[unit] : '';
}

/** Format the exact number for tooltips. Numbers from 1000 on, where only averages have fractions, are rounded to integers. */
export function formatExact(unit: Unit, value: number | null | undefined): string {
  if (!isKnown(value)) return UNKNOWN;
  const scaled = unit === 'ratio' ? value * 100 : value;
  const maximumFractionDigits = Math.abs(scaled) < 1000 ? DECIMALS : 0;
  const text = scaled.toLocaleString('en-US', { maximumFractionDigits });
  if (unit === 'ratio') return text + SUFFIX.ratio;
  return SUFFIX[unit] ? text + SPACE + SUFFIX[unit] : text;
}

/** Format axis labels with the scale of the largest tick, so that all labels have the same unit. */
export function axisLabels(unit: Unit, ticks: readonly number[]): string[] {
  const largest = ticks.reduce((max, tick) => Math.max(max, Math.abs(tick)), 0);
  if (unit === 'ratio') return ticks.map((tick) => `${roundSignificant(tick * 100)}%`);
  const { divisor, prefix } = isLatency(unit)
    ? latencyScale(largest, unit)
    : scaleFor(largest, unit);
  const mark = unit === 'bytesPerSecond' ? `${prefix}/s` : unit === 'ms' ? 'ms' : prefix;
  return ticks.map((tick) =>
    tick === 0 ? '0' : `${roundSignificant(tick / divisor)}${mark ? SPACE + mark : ''}`,
  );
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')}${SPACE}${count === 1 ? one : many}`;
}
