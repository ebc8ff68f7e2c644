/** Legend with min, avg, max and last. Figures are written to the cells without rendering. */
import { type Ref, useImperativeHandle, useRef, useState } from 'react';
import { lostSince } from '@/lib/connection';
import { formatWithoutUnit, type Unit, unitLabel } from '@/lib/format';
import { consoleNow } from '@/lib/time';
import { type FigureState, figureState } from '../figure/figureState';
import { paintFigure } from '../figure/paintFigure';
import classes from './Chart.module.css';
import { figuresOf, type Prepared } from './data/prepare';
import type { ChartSeries } from './types';

const COLUMNS = ['min', 'avg', 'max', 'last'] as const;
type Column = (typeof COLUMNS)[number];

export interface LegendHandle {
  show: (data: Prepared, cursor: number | null, time: string | null) => void;
}

interface Props {
  ref: Ref<LegendHandle>;
  series: readonly ChartSeries[];
  unit: Unit;
  visible: readonly boolean[];
  onToggle: (index: number, add: boolean) => void;
}

export function Legend({ ref, series, unit, visible, onToggle }: Props) {
  const table = useRef<HTMLTableElement>(null);
  const data = useRef<Prepared | null>(null);
  const [order, setOrder] = useState<{ by: Column; rank: number[] } | null>(null);
  const sortable = series.length > 4;

  useImperativeHandle(ref, () => ({
    show: (next, cursor, time) => {
      data.current = next;
      const root = table.current;
      if (!root) return;
      const head = root.querySelector('[data-head="last"]');
      if (head) write(head, time ?? 'last');
      for (const row of root.querySelectorAll<HTMLElement>('tr[data-row]')) {
        const index = Number(row.dataset.row);
        const values = next.raw[index];
        if (!values) continue;
        const result = figuresOf(next, index);
        const noAverage = series[index]?.noAverage;
        if (noAverage) result.avg = Number.NaN;
        if (cursor !== null) result.last = values[cursor] ?? Number.NaN;
        for (const cell of row.querySelectorAll<HTMLElement>('td[data-column]')) {
          const column = cell.dataset.column as Column;
          const state =
            column === 'last' && cursor === null
              ? lastFigure(values, next.step, result.last)
              : figureOf(result[column]);
          const title = column === 'avg' ? noAverage : undefined;
          paintFigure(state, { element: cell, unit, write: formatWithoutUnit, title });
        }
      }
    },
  }));

  const sortBy = (by: Column) => {
    const now = data.current;
    const value = (index: number) => {
      const found = now ? figuresOf(now, index)[by] : Number.NaN;
      return Number.isNaN(found) ? Number.NEGATIVE_INFINITY : found;
    };
    const rank = series.map((_, index) => index).sort((a, b) => value(b) - value(a));
    setOrder({ by, rank });
  };

  const rows = order?.rank.length === series.length ? order.rank : series.map((_, index) => index);
  return (
    <table ref={table} className={classes.legend}>
      <thead>
        <tr>
          <th scope="col">{unitLabel(unit) || <span className="sr-only">Series</span>}</th>
          {COLUMNS.map((column) => (
            <th
              key={column}
              scope="col"
              aria-sort={order?.by === column ? 'descending' : undefined}
            >
              {sortable ? (
                <button type="button" data-head={column} onClick={() => sortBy(column)}>
                  {column}
                </button>
              ) : (
                <span data-head={column}>{column}</span>
              )}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((index) => (
          <tr
            key={series[index]?.label}
            data-row={index}
            data-off={visible[index] === false || undefined}
          >
            <th scope="row">
              <button
                type="button"
                className={classes.series}
                aria-pressed={visible[index] !== false}
                title="Click: only this one. Shift-click: add or remove."
                onClick={(event) => onToggle(index, event.shiftKey)}
              >
                <span
                  className={series[index]?.limit ? classes.dash : classes.swatch}
                  style={{ color: series[index]?.color }}
                />
                {series[index]?.label}
              </button>
            </th>
            {COLUMNS.map((column) => (
              <td key={column} data-column={column} className="num">
                –
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function figureOf(value: number, reason = 'No samples in this time range'): FigureState {
  return Number.isNaN(value) ? { kind: 'unknown', reason } : { kind: 'fresh', value };
}

/** Return the last value. Without a recent one, it is late, or stale if the connection is lost. */
function lastFigure(values: Float64Array, step: number, last: number): FigureState {
  const lost = lostSince.get();
  if (step !== 1 || (lost === null && !Number.isNaN(last))) return figureOf(last);
  const index = values.findLastIndex((value) => !Number.isNaN(value));
  const value = values[index];
  return figureState({
    found: value === undefined ? null : { value, age: values.length - 1 - index },
    lostFor: lost === null ? null : (consoleNow() - lost) / 1000,
    nodes: null,
  });
}

function write(cell: Element, text: string): void {
  if (cell.textContent !== text) cell.textContent = text;
}
