/** Menu of a chart: copy as CSV, PNG, link, or the query that returns its data. */
import { ActionIcon, Menu } from '@mantine/core';
import {
  IconApi,
  IconChartDots,
  IconCheck,
  IconDotsVertical,
  IconFlag,
  IconFlagOff,
  IconLink,
  IconMathFunction,
  IconPhoto,
  IconTable,
} from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { copyImage, copyText } from '@/lib/clipboard';
import { formatDateTime } from '@/lib/time';
import { useZone } from '../useZone';
import { setEventMarksVisible, useEventMarksVisible } from './eventMarksSetting';
import { renderImage } from './imageExport';
import { useTimeAxis } from './TimeAxisContext';
import type { ChartSpec } from './types';

/** Access to the currently drawn chart. */
export interface DrawnChart {
  csv: () => string;
  canvas: () => HTMLCanvasElement;
  /** Seconds of one interval. */
  step: () => number;
}

interface Props {
  of: Pick<ChartSpec, 'title' | 'subject' | 'id' | 'apiCall' | 'promql'> & {
    series?: ChartSpec['series'];
  };
  drawn: () => DrawnChart | null;
  /** Whether the y axis is logarithmic; undefined if it cannot be changed. */
  log?: boolean;
  onLog?: ((log: boolean) => void) | undefined;
  /** Whether the chart supports event marks. */
  marks?: boolean;
  extra?: ReactNode;
}

export function ChartMenu({ of, drawn, log, onLog, marks, extra }: Props) {
  const [done, setDone] = useState<string | null>(null);
  const axis = useTimeAxis();
  const zone = useZone();
  const areMarksVisible = useEventMarksVisible();
  const report = (label: string) => {
    setDone(label);
    setTimeout(() => setDone(null), 1500);
  };
  const csv = async () => {
    const text = drawn()?.csv();
    if (text === undefined) return;
    await copyText(text);
    report('CSV copied');
  };
  const png = async () => {
    const canvas = drawn()?.canvas();
    if (!canvas) return;
    const { from, to } = axis.window();
    const time = `${formatDateTime(from * 1000, zone)} – ${formatDateTime(to * 1000, zone)}`;
    const subtitle = [of.subject, time].filter(Boolean).join(' · ');
    const blob = await renderImage(canvas, { title: of.title, subtitle, entries: of.series ?? [] });
    report(await copyImage(blob, [of.subject, of.title].filter(Boolean).join(' ')));
  };
  const copy = async (text: string, label: string) => {
    await copyText(text);
    report(`${label} copied`);
  };
  const { apiCall, promql } = of;
  const call = () => {
    const { from, to } = axis.window();
    return copy(apiCall?.(from, to) ?? '', 'Call');
  };
  const link = () => {
    const anchor = of.id ? `#${of.id}` : '';
    return copy((axis.link?.(drawn()?.step() ?? 1) ?? '') + anchor, 'Link');
  };
  return (
    <Menu position="bottom-end" withinPortal closeOnItemClick>
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={done ?? `Options of ${of.title}`}
          title={done ?? undefined}
        >
          {done ? <IconCheck size={15} /> : <IconDotsVertical size={15} />}
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {extra}
        {onLog && (
          <Menu.Item leftSection={<IconMathFunction size={15} />} onClick={() => onLog(!log)}>
            {log ? 'Linear scale' : 'Logarithmic scale'}
          </Menu.Item>
        )}
        {marks && (
          <Menu.Item
            leftSection={areMarksVisible ? <IconFlagOff size={15} /> : <IconFlag size={15} />}
            onClick={() => setEventMarksVisible(!areMarksVisible)}
          >
            {areMarksVisible ? 'Hide events on charts' : 'Show events on charts'}
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
