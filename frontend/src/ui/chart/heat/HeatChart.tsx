/** Card with a heat map: plot, crosshair, legend. */
import { type ReactNode, useCallback, useMemo, useRef } from 'react';
import { interval } from '@/lib/dates';
import { duration } from '@/lib/time';
import { type CreatePlot, PlotCard } from '../PlotCard';
import type { ChartMark } from '../types';
import { HeatLegend, type HeatLegendHandle } from './HeatLegend';
import { HeatTooltip, type HeatTooltipHandle } from './HeatTooltip';
import heatClasses from './heat.module.css';
import { HeatPlot } from './heatPlot';
import type { HeatSource } from './types';

interface Props {
  id: string;
  title: string;
  source: HeatSource;
  marks: readonly ChartMark[];
  height: number;
  /** Text if there are no requests. */
  emptyReason: string;
  actions?: ReactNode;
}

export function HeatChart({ id, title, source, marks, height, emptyReason, actions }: Props) {
  const legend = useRef<HeatLegendHandle>(null);
  const tooltip = useRef<HeatTooltipHandle>(null);
  const menu = useMemo(() => ({ of: { id, title, apiCall: source.apiCall } }), [id, title, source]);

  const build = useCallback<CreatePlot>(
    (context) => {
      const chart: HeatPlot = new HeatPlot({
        ...context,
        source,
        onData: (heat, extent, scale) => {
          legend.current?.show(heat, extent && scale);
          const counted = heat.columns.some((column) => column?.seconds);
          context.showEmpty({
            any: extent !== null,
            pending: source.pending?.() ?? false,
            reason:
              source.reason() ??
              (counted ? emptyReason : 'Requests were not counted in this time range.'),
          });
          context.showResolution(heat.step > 1 && extent ? `${duration(heat.step)} columns` : '');
        },
        onCursor: (at) => {
          if (!at || at.row === null) {
            tooltip.current?.hide();
            return;
          }
          const { step, perDecade } = chart.heat;
          const { left, column, row, from } = at;
          const time = interval(from, step, context.zone);
          tooltip.current?.show({ left, width: context.width(), time, column, row, perDecade });
        },
      });
      return chart;
    },
    [source, emptyReason],
  );

  return (
    <PlotCard
      id={id}
      title={title}
      height={height}
      marks={marks}
      source={source}
      build={build}
      menu={menu}
      plotClass={heatClasses.plot}
      actions={actions}
      tooltip={<HeatTooltip ref={tooltip} />}
      legend={<HeatLegend ref={legend} />}
    />
  );
}
