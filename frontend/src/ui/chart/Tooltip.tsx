/** Tooltip of the crosshair: the time, the highest series and the number of others. Written to the DOM without rendering. */
import { type Ref, useImperativeHandle, useRef } from 'react';
import { formatExact, type Unit } from '@/lib/format';
import classes from './Chart.module.css';
import { rankAt } from './data/rank';
import { positionTooltip } from './plot/overlay';
import type { ChartSeries } from './types';

const TOP = 8;
/** Maximum width of the box in pixels. */
const WIDTH = 260;

export interface TooltipHandle {
  show: (at: { left: number; width: number; time: string; values: readonly number[] }) => void;
  hide: () => void;
}

interface Props {
  ref: Ref<TooltipHandle>;
  series: readonly ChartSeries[];
  unit: Unit;
}

export function Tooltip({ ref, series, unit }: Props) {
  const box = useRef<HTMLDivElement>(null);
  useImperativeHandle(ref, () => ({
    show: ({ left, width, time, values }) => {
      const root = box.current;
      if (!root) return;
      const { top, more, withoutValue } = rankAt(values, TOP);
      const rest = [more && `and ${more} more`, withoutValue && `${withoutValue} without data`];
      root.replaceChildren(
        line('time', time),
        ...top.map((index) => row(series[index], formatExact(unit, values[index]))),
        ...(more || withoutValue ? [line('rest', rest.filter(Boolean).join(', '))] : []),
      );
      positionTooltip(root, { left, width }, WIDTH);
    },
    hide: () => {
      if (box.current) box.current.hidden = true;
    },
  }));
  return <div ref={box} className={classes.tooltip} hidden />;
}

function line(kind: string, text: string): HTMLElement {
  const element = document.createElement('div');
  element.dataset.kind = kind;
  element.textContent = text;
  return element;
}

function row(series: ChartSeries | undefined, value: string): HTMLElement {
  const element = document.createElement('div');
  const swatch = document.createElement('span');
  swatch.className = classes.swatch ?? '';
  swatch.style.color = series?.color ?? '';
  const label = document.createElement('span');
  label.textContent = series?.label ?? '';
  const number = document.createElement('b');
  number.textContent = value;
  element.append(swatch, label, number);
  return element;
}
