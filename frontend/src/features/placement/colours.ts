/** By what the cells can be coloured. */
import type { Unit } from '@/lib/format';

export interface ColourMetric {
  metric: string;
  label: string;
  unit: Unit;
}

export const COLOUR_METRICS: readonly [ColourMetric, ...ColourMetric[]] = [
  { metric: 'total_req', label: 'ops/s', unit: 'ops' },
  { metric: 'used_memory', label: 'memory', unit: 'bytes' },
  { metric: 'no_of_keys', label: 'keys', unit: 'count' },
  { metric: 'main_thread_cpu', label: 'CPU', unit: 'cores' },
];

export const colourMetric = (name: string | undefined): ColourMetric =>
  COLOUR_METRICS.find(({ metric }) => metric === name) ?? COLOUR_METRICS[0];

/** Place of a value between zero and the largest, in whole percent; null for unknown. */
export function heat(value: number, max: number): number | null {
  if (Number.isNaN(value)) return null;
  if (!(max > 0)) return 0;
  return Math.round(Math.min(1, Math.max(0, value / max)) * 100);
}
