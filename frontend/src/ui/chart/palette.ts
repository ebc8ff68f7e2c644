/** Eight series colors, suitable for color-blind users, each with a fixed meaning. CSS defines them for both themes. */

export const COLOR = {
  read: 'var(--series-blue)',
  write: 'var(--series-orange)',
  other: 'var(--series-slate)',
  memory: 'var(--series-green)',
  ram: 'var(--series-green)',
  flash: 'var(--series-ochre)',
  limit: 'var(--series-rose)',
  hit: 'var(--series-purple)',
  conns: 'var(--series-ochre)',
  keys: 'var(--series-sky)',
  ingress: 'var(--series-blue)',
  egress: 'var(--series-orange)',
  error: 'var(--series-rose)',
  evicted: 'var(--series-rose)',
  expired: 'var(--series-ochre)',
  cpuUser: 'var(--series-blue)',
  cpuSystem: 'var(--series-orange)',
  cpuWait: 'var(--series-rose)',
  responsiveness: 'var(--series-purple)',
  average: 'var(--series-purple)',
  p50: 'var(--series-sky)',
  p99: 'var(--series-ochre)',
  p999: 'var(--series-rose)',
} as const;

/** Colors for series that differ only by name, such as shards. */
export const CYCLE = [
  'var(--series-blue)',
  'var(--series-orange)',
  'var(--series-green)',
  'var(--series-purple)',
  'var(--series-ochre)',
  'var(--series-sky)',
  'var(--series-rose)',
  'var(--series-slate)',
] as const;

/** Return the computed color of a CSS variable, because a canvas does not support CSS variables. */
export function resolveColor(color: string): string {
  const name = /^var\((--[\w-]+)\)$/.exec(color)?.[1];
  if (!name) return color;
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim() || '#888';
}
