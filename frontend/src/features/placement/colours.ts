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

/** Steps of the colour scale: enough for the eye, few enough that most cells stay as they are. */
export const HEAT_STEPS = 20;

/** Place of a value between zero and the largest, as a step; null for unknown. */
export function heat(value: number, max: number): number | null {
  if (Number.isNaN(value)) return null;
  if (!(max > 0)) return 0;
  return Math.round(Math.min(1, Math.max(0, value / max)) * HEAT_STEPS);
}

/** The colour of each step as a CSS variable, mixed once instead of in every cell. */
export function heatScale(): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: HEAT_STEPS + 1 }, (_, step) => [
      `--heat-${step}`,
      `color-mix(in oklab, var(--heat-high) ${(step * 100) / HEAT_STEPS}%, var(--heat-low))`,
    ]),
  );
}
