/** Legend of a heat map: color scale and summary figures. Written to the DOM without rendering. */
import { type Ref, useImperativeHandle, useRef } from 'react';
import { format } from '@/lib/format';
import { type ColorScale, STOPS, scaleLabels } from './colors';
import { summaryOf } from './grid';
import { rangeLabel } from './HeatTooltip';
import classes from './heat.module.css';
import type { Heat } from './types';

export interface HeatLegendHandle {
  show: (heat: Heat, scale: ColorScale | null) => void;
}

export function HeatLegend({ ref }: { ref: Ref<HeatLegendHandle> }) {
  const marks = useRef<HTMLDivElement>(null);
  const figures = useRef<HTMLDivElement>(null);
  useImperativeHandle(ref, () => ({
    show: (heat, scale) => {
      marks.current?.replaceChildren(...(scale ? labels(scale) : []));
      const found = summaryOf(heat.columns);
      figures.current?.replaceChildren(
        figure('Requests', found ? format('count', found.requests) : '–'),
        figure('Most frequent', found ? rangeLabel(found.busiest, heat.perDecade) : '–'),
        figure('Slowest', found ? rangeLabel(found.slowest, heat.perDecade) : '–'),
      );
    },
  }));
  return (
    <div className={classes.legend}>
      <span>Requests per second</span>
      <div className={classes.scale}>
        <div style={{ background: `linear-gradient(to right, ${STOPS.join()})` }} />
        <div ref={marks} />
      </div>
      <span className={classes.swatch} data-gap="">
        No data
      </span>
      <div ref={figures} className={classes.figures} />
    </div>
  );
}

function labels(scale: ColorScale): HTMLElement[] {
  return scaleLabels(scale).map(({ rate, position }) => {
    const label = document.createElement('span');
    label.style.left = `${position * 100}%`;
    label.textContent = format('count', rate);
    return label;
  });
}

function figure(name: string, value: string): HTMLElement {
  const element = document.createElement('span');
  const number = document.createElement('b');
  number.textContent = value;
  element.dataset.figure = name;
  element.append(`${name} `, number);
  return element;
}
