/** Take a chart away: CSV, PNG, a link, or the query that returns its numbers. */
import { ActionIcon, Menu } from '@mantine/core';
import {
  IconApi,
  IconChartDots,
  IconCheck,
  IconDotsVertical,
  IconLink,
  IconMathFunction,
  IconPhoto,
  IconTable,
} from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { copyImage, copyText } from '@/lib/clipboard';
import type { ChartPlot } from './plot';
import { toCsv } from './prepare';
import { useTimeAxis } from './TimeAxisContext';
import type { ChartSpec } from './types';

interface Props {
  spec: ChartSpec;
  plot: () => ChartPlot | null;
  /** Powers of ten on the y axis, which suits what spans several of them. */
  log: boolean;
  onLog: (log: boolean) => void;
  extra?: ReactNode;
}

export function ChartMenu({ spec, plot, log, onLog, extra }: Props) {
  const [done, setDone] = useState<string | null>(null);
  const axis = useTimeAxis();
  const report = (what: string) => {
    setDone(what);
    setTimeout(() => setDone(null), 1500);
  };
  const csv = async () => {
    const data = plot()?.data;
    if (!data) return;
    const labels = spec.series.map((series) => `${series.label} (${spec.unit})`);
    await copyText(toCsv(data, labels));
    report('CSV copied');
  };
  const png = async () => {
    const canvas = plot()?.canvas();
    if (canvas) report(await copyImage(canvas, spec.title));
  };
  const copy = async (text: string, what: string) => {
    await copyText(text);
    report(`${what} copied`);
  };
  const { apiCall, promql } = spec;
  const call = () => {
    const { from, to } = axis.window();
    return copy(apiCall?.(from, to) ?? '', 'Call');
  };
  const link = () => {
    const anchor = spec.id ? `#${spec.id}` : '';
    return copy((axis.link?.(plot()?.data.step ?? 1) ?? '') + anchor, 'Link');
  };
  return (
    <Menu position="bottom-end" withinPortal closeOnItemClick>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={done ?? `Options of ${spec.title}`}
          title={done ?? undefined}
        >
          {done ? <IconCheck size={15} /> : <IconDotsVertical size={15} />}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {extra}
        {(spec.unit === 'latency' || spec.unit === 'ms') && (
          <Menu.Item leftSection={<IconMathFunction size={15} />} onClick={() => onLog(!log)}>
            {log ? 'Linear scale' : 'Logarithmic scale'}
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconTable size={15} />} onClick={csv}>
          Copy as CSV
        </Menu.Item>
        <Menu.Item leftSection={<IconPhoto size={15} />} onClick={png}>
          Copy as PNG
        </Menu.Item>
        {promql && (
          <Menu.Item
            leftSection={<IconChartDots size={15} />}
            onClick={() => copy(promql, 'PromQL')}
          >
            Copy as PromQL
          </Menu.Item>
        )}
        {apiCall && (
          <Menu.Item leftSection={<IconApi size={15} />} onClick={call}>
            Copy API call
          </Menu.Item>
        )}
        {axis.link && (
          <Menu.Item leftSection={<IconLink size={15} />} onClick={link}>
            Copy link
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}
