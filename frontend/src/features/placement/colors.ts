/** Metrics and scale for the color of cells. */
import type { Unit } from '@/lib/format';

export interface ColorMetric {
  metric: string;
  label: string;
  unit: Unit;
  /** Whether only shards of flash databases report it. */
  onFlash?: boolean;
  /** Fixed top of the scale. If missing, the top follows the largest value. */
  top?: number;
}

const COLOR_METRICS: readonly [ColorMetric, ...ColorMetric[]] = [
  { metric: 'total_req', label: 'ops/s', unit: 'ops' },
  { metric: 'used_memory', label: 'memory', unit: 'bytes' },
  { metric: 'no_of_keys', label: 'keys', unit: 'count' },
  { metric: 'main_thread_cpu', label: 'CPU', unit: 'cores' },
];

const FLASH_METRICS: readonly ColorMetric[] = [
  { metric: 'ram_hit_ratio', label: 'RAM hit ratio', unit: 'ratio', onFlash: true, top: 1 },
  { metric: 'bigstore_objs_flash', label: 'values on flash', unit: 'count', onFlash: true },
];

export const colorMetrics = (onFlash: boolean): readonly [ColorMetric, ...ColorMetric[]] =>
  onFlash ? [...COLOR_METRICS, ...FLASH_METRICS] : COLOR_METRICS;

export function colorMetric(name: string | undefined, onFlash: boolean): ColorMetric {
  const all = colorMetrics(onFlash);
  return all.find(({ metric }) => metric === name) ?? all[0];
}

/** Return the stream topic that contains a metric of a database's shards. */
export const topicOf = (bdb: number, { onFlash }: ColorMetric): string =>
  `${onFlash ? 'flash_shards' : 'shards'}:${bdb}`;

/** Number of steps of the color scale: enough to look continuous, but so few that most cells keep their color. */
export const HEAT_STEPS = 20;

/** Hysteresis in steps, so that a value at the border of two steps does not flicker. */
const HYSTERESIS = 0.8;

/** Return the step of a value between zero and the top of the scale; null if the value is unknown. */
export function heatStep(value: number, top: number, before: number | null = null): number | null {
  if (Number.isNaN(value)) return null;
  if (!(top > 0)) return 0;
  const position = Math.min(1, Math.max(0, value / top)) * HEAT_STEPS;
  if (before !== null && before >= 0 && Math.abs(position - before) < HYSTERESIS) return before;
  return Math.round(position);
}

/** Return the color of each step as CSS variables, so that colors are mixed once and not for every cell. */
export function heatScale(): Record<string, string> {
  return Object.fromEntries(
    Array.from({ length: HEAT_STEPS + 1 }, (_, step) => [
      `--heat-${step}`,
      `color-mix(in oklab, var(--heat-high) ${(step * 100) / HEAT_STEPS}%, var(--heat-low))`,
    ]),
  );
}
