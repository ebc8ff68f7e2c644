/** Tooltip of a heat map: time, latency, number of requests and their share. Written to the DOM without rendering. */
import { type Ref, useImperativeHandle, useRef } from 'react';
import { format, formatExact } from '@/lib/format';
import classes from '../Chart.module.css';
import { positionTooltip } from '../plot/overlay';
import { countAt, requestsOf, rowStart } from './grid';
import type { HeatColumn } from './types';

/** Maximum width of the box in pixels. */
const WIDTH = 240;

export interface HeatTooltipHandle {
  show: (at: {
    left: number;
    width: number;
    time: string;
    column: HeatColumn | undefined;
    row: number;
    perDecade: number;
  }) => void;
  hide: () => void;
}

export function HeatTooltip({ ref }: { ref: Ref<HeatTooltipHandle> }) {
  const box = useRef<HTMLDivElement>(null);
  useImperativeHandle(ref, () => ({
    show: ({ left, width, time, column, row, perDecade }) => {
      const root = box.current;
      if (!root) return;
      root.replaceChildren(line(time), ...body(column, row, perDecade));
      positionTooltip(root, { left, width }, WIDTH);
    },
    hide: () => {
      if (box.current) box.current.hidden = true;
    },
  }));
  return <div ref={box} className={classes.tooltip} data-wide="" hidden />;
}

function body(column: HeatColumn | undefined, row: number, perDecade: number): HTMLElement[] {
  if (!column) return [line('Not loaded yet')];
  if (!column.seconds) return [line('No data: requests were not counted')];
  const all = requestsOf(column);
  if (!all) return [line('No requests')];
  const count = countAt(column, row);
  const slower = column.counts
    .slice(Math.max(0, row + 1 - column.row))
    .reduce((sum, each) => sum + each, 0);
  return [
    pair('Latency', rangeLabel(row, perDecade)),
    pair('Requests', countText(count, column.seconds)),
    pair(`Share of ${formatExact('count', all)}`, shareText(count / all)),
    pair('Slower', shareText(slower / all)),
  ];
}

/** 200 µs–224 µs */
export const rangeLabel = (row: number, perDecade: number): string =>
  [row, row + 1].map((each) => format('microseconds', rowStart(each, perDecade))).join('–');

/** Format a request count, with the rate if the column is longer than a second. */
const countText = (count: number, seconds: number): string =>
  seconds === 1
    ? formatExact('count', count)
    : `${formatExact('count', count)}, ${format('perSecond', count / seconds)}`;

const shareText = (share: number): string => format('ratio', share);

function line(text: string): HTMLElement {
  const element = document.createElement('div');
  element.dataset.kind = 'time';
  element.textContent = text;
  return element;
}

function pair(name: string, value: string): HTMLElement {
  const element = document.createElement('div');
  const label = document.createElement('span');
  label.textContent = name;
  const number = document.createElement('b');
  number.textContent = value;
  element.append(label, number);
  return element;
}
