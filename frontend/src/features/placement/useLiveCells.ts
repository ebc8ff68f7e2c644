/**
 * Updates the live values of hundreds of cells without React. Every second, each element with a data-shard attribute gets its
 * color, and its text and meter if it has them. Only elements that changed are updated.
 */
import { type RefObject, useCallback, useEffect, useRef } from 'react';
import { shardMemoryTone } from '@/api/alerting/alarmTones';
import { useActiveAlarms } from '@/api/alerting/health';
import { format, formatExact, UNKNOWN } from '@/lib/format';
import { useLive } from '@/live/LiveProvider';
import { niceCeiling } from '@/ui/chart/data/prepare';
import type { Alert } from '@/ui/figure/paintFigure';
import { type ColorMetric, heatStep, topicOf } from './colors';

interface PaintedCell {
  shard: string;
  element: HTMLElement;
  value: HTMLElement | null;
  meter: HTMLElement | null;
  step: number | null;
}

interface Options {
  root: RefObject<HTMLElement | null>;
  bdb: number;
  metric: ColorMetric;
  /** Memory limit of one shard in bytes; 0 if unlimited. */
  shardLimit: number;
  /** Changes whenever the rendered elements change. */
  version: unknown;
}

export function useLiveCells({ root, bdb, metric, shardLimit, version }: Options): void {
  const live = useLive();
  const alarms = useActiveAlarms();
  const cells = useRef<PaintedCell[]>([]);
  const top = useRef<HTMLElement | null>(null);

  const paint = useCallback(() => {
    const ring = live.ring(topicOf(bdb, metric));
    const usage = live.ring(`shards:${bdb}`);
    const edge = live.edge();
    const values = new Map<string, number>();
    let max = -1;
    for (const { shard } of cells.current) {
      if (values.has(shard)) continue;
      const value = ring.latest(shard, metric.metric, edge);
      values.set(shard, value);
      if (value > max) max = value;
    }
    // Rounded up, because otherwise each change of the largest value would change the color of every cell.
    const scale = metric.top ?? niceCeiling(max, metric.unit === 'bytes');
    for (const cell of cells.current) {
      const value = values.get(cell.shard) ?? Number.NaN;
      color(cell, heatStep(value, scale, cell.step));
      if (cell.value) write(cell.value, format(metric.unit, value));
      if (cell.meter) {
        const used = usage.latest(cell.shard, 'used_memory', edge);
        const share = shardLimit > 0 && !Number.isNaN(used) ? used / shardLimit : 0;
        fill(cell.meter, used, share, shardMemoryTone(alarms, bdb, cell.shard, share));
      }
    }
    if (top.current) write(top.current, max < 0 ? UNKNOWN : format(metric.unit, scale));
  }, [live, alarms, bdb, metric, shardLimit]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: version stands for the rendered elements
  useEffect(() => {
    const elements = root.current?.querySelectorAll<HTMLElement>('[data-shard]') ?? [];
    cells.current = [...elements].map((element) => ({
      shard: element.dataset.shard ?? '',
      element,
      value: element.querySelector<HTMLElement>('[data-value]'),
      meter: element.querySelector<HTMLElement>('[data-meter]'),
      step: -1,
    }));
    top.current = root.current?.querySelector<HTMLElement>('[data-scale-top]') ?? null;
    paint();
    return live.onTick(paint);
  }, [live, root, paint, version]);
}

function color(cell: PaintedCell, step: number | null): void {
  if (cell.step === step) return;
  cell.step = step;
  cell.element.toggleAttribute('data-unknown', step === null);
  cell.element.style.setProperty('--heat', `var(--heat-${step ?? 0})`);
}

function write(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function fill(meter: HTMLElement, used: number, share: number, tone: Alert): void {
  meter.toggleAttribute('data-unknown', Number.isNaN(used));
  meter.style.width = `${(Math.min(1, share) * 100).toFixed(1)}%`;
  if (tone) meter.dataset.alert = tone;
  else delete meter.dataset.alert;
  const text = Number.isNaN(used)
    ? 'Memory unknown: no recent samples'
    : `Memory ${formatExact('bytes', used)}`;
  meter.parentElement?.setAttribute('title', text);
}
