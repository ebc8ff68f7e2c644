/** Filters, zoom buttons and export menu of the timeline. */
import { ActionIcon, Button, Menu, NativeSelect, Tooltip } from '@mantine/core';
import { IconDownload, IconZoomIn, IconZoomOut } from '@tabler/icons-react';
import type { Bdb, LogEvent, Node } from '@/api/types';
import { downloadText } from '@/lib/download';
import { MAX_WINDOW_S } from '@/lib/timeWindow';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import { EVENT_GROUPS, type EventGroup } from './eventTypes';
import { toCsv } from './export';
import type { TimelineFilter } from './filter';
import classes from './Timeline.module.css';

const MIN_SECONDS = 10;

interface Props {
  filter: TimelineFilter;
  onFilter: (change: TimelineFilter) => void;
  nodes: readonly Node[];
  bdbs: readonly Bdb[];
  /** Filtered events, for the export. */
  events: readonly LogEvent[];
}

export function TimelineFilters({ filter, onFilter, nodes, bdbs, events }: Props) {
  const number = (text: string) => (text ? Number(text) : undefined);
  return (
    <div className={classes.filters}>
      <NativeSelect
        size="xs"
        aria-label="Severity"
        value={filter.severity ?? ''}
        onChange={(event) =>
          onFilter({
            severity: (event.currentTarget.value || undefined) as TimelineFilter['severity'],
          })
        }
        data={[
          { value: '', label: 'All severities' },
          { value: 'WARNING', label: 'Warnings and errors' },
          { value: 'ERROR', label: 'Errors' },
        ]}
      />
      <NativeSelect
        size="xs"
        aria-label="Type"
        value={filter.kind ?? ''}
        onChange={(event) =>
          onFilter({ kind: (event.currentTarget.value || undefined) as EventGroup })
        }
        data={[
          { value: '', label: 'All types' },
          ...Object.entries(EVENT_GROUPS).map(([value, label]) => ({ value, label })),
        ]}
      />
      <NativeSelect
        size="xs"
        aria-label="Node"
        value={filter.node ?? ''}
        onChange={(event) => onFilter({ node: number(event.currentTarget.value) })}
        data={[
          { value: '', label: 'All nodes' },
          ...nodes.map(({ uid }) => ({ value: String(uid), label: `Node ${uid}` })),
        ]}
      />
      <NativeSelect
        size="xs"
        aria-label="Database"
        value={filter.bdb ?? ''}
        onChange={(event) => onFilter({ bdb: number(event.currentTarget.value) })}
        data={[
          { value: '', label: 'All databases' },
          ...bdbs.map(({ uid, name }) => ({ value: String(uid), label: name })),
        ]}
      />
      <Zoom />
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" leftSection={<IconDownload size={14} />}>
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => downloadText('timeline.json', JSON.stringify(events, null, 2))}>
            JSON
          </Menu.Item>
          <Menu.Item onClick={() => downloadText('timeline.csv', toCsv(events))}>CSV</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

function Zoom() {
  const axis = useTimeAxis();
  const zoomBy = (factor: number) => {
    const { from, to } = axis.window();
    const length = Math.min(MAX_WINDOW_S, Math.max(MIN_SECONDS, Math.round((to - from) * factor)));
    // Keep the right edge, because users are usually interested in the newest events.
    axis.zoom(to - length, to);
  };
  return (
    <>
      <Tooltip label="Double the time range">
        <ActionIcon variant="default" aria-label="Zoom out" onClick={() => zoomBy(2)}>
          <IconZoomOut size={16} />
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Halve the time range (or drag across the lanes)">
        <ActionIcon variant="default" aria-label="Zoom in" onClick={() => zoomBy(0.5)}>
          <IconZoomIn size={16} />
        </ActionIcon>
      </Tooltip>
    </>
  );
}
