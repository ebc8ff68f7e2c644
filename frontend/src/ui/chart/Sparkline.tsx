/** Small chart without axes, for the shared time range. */
import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { usePrinting } from '../usePrinting';
import { resolveColor } from './palette';
import { onScreen } from './plot/onScreen';
import { useTimeAxis } from './TimeAxisContext';
import type { ChartSource } from './types';

interface Props {
  source: ChartSource;
  color: string;
  label: string;
  height?: number;
  /** Fixed top of the axis, which makes several sparklines comparable. */
  max?: () => number;
}

export function Sparkline({ source, color, label, height = 28, max }: Props) {
  const ref = useRef<HTMLCanvasElement>(null);
  const axis = useTimeAxis();
  const scheme = useComputedColorScheme('light');
  const printing = usePrinting();

  // biome-ignore lint/correctness/useExhaustiveDependencies: the color depends on the scheme; printing draws all sparklines
  useEffect(() => {
    const canvas = ref.current;
    if (!canvas) return;
    const stroke = resolveColor(color);
    let width = canvas.clientWidth;
    const draw = () => {
      const { from, to } = axis.window();
      const { rows } = source.read(from, to);
      const first = rows[0] ?? new Float64Array();
      const values = rows.length > 1 ? first.map((_, t) => sumAt(rows, t)) : first;
      paint(canvas, values, stroke, width, height, max?.());
    };
    const visibility = onScreen(canvas, draw);
    const moved = movement(() => width);
    const observer = new ResizeObserver(([entry]) => {
      width = entry?.contentRect.width ?? width;
      visibility.draw();
    });
    observer.observe(canvas);
    const stops = [
      visibility.stop,
      axis.subscribe(visibility.draw),
      source.subscribe(() => {
        if (moved(axis.window())) visibility.draw();
      }),
    ];
    draw();
    return () => {
      observer.disconnect();
      for (const stop of stops) stop();
    };
  }, [source, color, height, axis, scheme, max, printing]);

  return (
    <canvas
      ref={ref}
      role="img"
      aria-label={label}
      style={{ width: '100%', height, display: 'block' }}
    />
  );
}

function sumAt(rows: Float64Array[], t: number): number {
  return rows.reduce((sum, row) => sum + (row[t] ?? Number.NaN), 0);
}

/**
 * Return whether a sparkline must be redrawn. A page can have many: each is redrawn when time has moved by a pixel, at
 * different seconds. New data of a window that does not move is drawn immediately.
 */
function movement(width: () => number): (window: { from: number; to: number }) => boolean {
  const phase = Math.random();
  let before = { from: 0, to: 0 };
  let drawnPixel = Number.NaN;
  return ({ from, to }) => {
    const isFixed = before.from === from && before.to === to;
    before = { from, to };
    const pixel = Math.max(1, (to - from) / Math.max(1, width()));
    const next = Math.floor(to / pixel + phase);
    const moves = isFixed || next !== drawnPixel;
    drawnPixel = next;
    return moves;
  };
}

function paint(
  canvas: HTMLCanvasElement,
  values: Float64Array,
  stroke: string,
  width: number,
  height: number,
  fixedTop?: number,
): void {
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
  if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  let top = fixedTop ?? 0;
  if (!fixedTop) for (const value of values) if (value > top) top = value;
  if (!top || values.length < 2) top ||= 1;
  context.strokeStyle = stroke;
  context.lineWidth = 1.25;
  context.beginPath();
  let pen = false;
  values.forEach((value, index) => {
    if (Number.isNaN(value)) {
      pen = false;
      return;
    }
    const x = (index / (values.length - 1)) * width;
    const y = height - 1.5 - (value / top) * (height - 3);
    if (pen) context.lineTo(x, y);
    else context.moveTo(x, y);
    pen = true;
  });
  context.stroke();
}
