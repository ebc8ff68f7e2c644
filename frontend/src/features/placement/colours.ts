/** By what the cells can be coloured. */
import type { Unit } from '@/lib/format';

export interface ColourMetric {
  metric: string;
  label: string;
  unit: Unit;
  /** What only shards on flash tell. */
  onFlash?: boolean;
  /** The top of the scale, where it is always the same. */
  top?: number;
}

const COLOUR_METRICS: readonly [ColourMetric, ...ColourMetric[]] = [
  { metric: 'total_req', label: 'ops/s', unit: 'ops' },
  { metric: 'used_memory', label: 'memory', unit: 'bytes' },
  { metric: 'no_of_keys', label: 'keys', unit: 'count' },
  { metric: 'main_thread_cpu', label: 'CPU', unit: 'cores' },
];

const FLASH_METRICS: readonly ColourMetric[] = [
  { metric: 'ram_hit_ratio', label: 'RAM hit ratio', unit: 'ratio', onFlash: true, top: 1 },
  { metric: 'bigstore_objs_flash', label: 'values on flash', unit: 'count', onFlash: true },
];

export const colourMetrics = (onFlash: boolean): readonly [ColourMetric, ...ColourMetric[]] =>
  onFlash ? [...COLOUR_METRICS, ...FLASH_METRICS] : COLOUR_METRICS;

export function colourMetric(name: string | undefined, onFlash: boolean): ColourMetric {
  const all = colourMetrics(onFlash);
  return all.find(({ metric }) => metric === name) ?? all[0];
}

/** The topic that a metric of a database's shards is told in. */
export const topicOf = (bdb: number, { onFlash }: ColourMetric): string =>
  `${onFlash ? 'flash_shards' : 'shards'}:${bdb}`;

/** Steps of the colour scale: enough for the eye, few enough that most cells stay as they are. */
export const HEAT_STEPS = 20;

/** A value has to leave its step by this much: on the border it would flicker. */
const CLEARLY = 0.8;

/** Place of a value between zero and the top of the scale, as a step; null for unknown. */
export function heat(value: number, top: number, before: number | null = null): number | null {
  if (Number.isNaN(value)) return null;
  if (!(top > 0)) return 0;
  const place = Math.min(1, Math.max(0, value / top)) * HEAT_STEPS;
  if (before !== null && before >= 0 && Math.abs(place - before) < CLEARLY) return before;
  return Math.round(place);
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
