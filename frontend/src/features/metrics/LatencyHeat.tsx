/** Latency heat map of all requests of a database or one of its endpoints. */
import { SegmentedControl } from '@mantine/core';
import { useMemo, useState } from 'react';
import { type LatencyKind, latencyHistory, latencyHistoryPath } from '@/api/metrics/history';
import { useLive } from '@/live/LiveProvider';
import type { Live } from '@/live/live';
import { HeatHistory } from '@/live/series/heatHistory';
import { HeatChart } from '@/ui/chart/heat/HeatChart';
import type { HeatSource } from '@/ui/chart/heat/types';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import type { ChartMark, TimeAxis } from '@/ui/chart/types';

interface Props {
  /** Query parameter of the API: "bdb=1" or "endpoint=1:1:2". */
  target: string;
  marks: readonly ChartMark[];
  /** Why the heat map is empty, if known. */
  reason: string | undefined;
  height?: number;
}

/**
 * Maximum number of columns. More than 300, so that a window of 5 minutes that starts within a
 * second keeps its resolution of one second.
 */
const POINTS = 305;
const NO_REQUESTS = 'No requests in this time range.';
const KINDS: readonly { value: LatencyKind; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'read', label: 'Reads' },
  { value: 'write', label: 'Writes' },
  { value: 'other', label: 'Other' },
];

export function LatencyHeat({ target, marks, reason = NO_REQUESTS, height = 240 }: Props) {
  const live = useLive();
  const axis = useTimeAxis();
  const [kind, choose] = useState<LatencyKind>('all');
  const source = useMemo(() => heatSource(live, axis, target, kind), [live, axis, target, kind]);
  return (
    <HeatChart
      id="latency-heat"
      title="Latency heat map"
      source={source}
      marks={marks}
      height={height}
      emptyReason={reason}
      actions={
        <SegmentedControl
          size="xs"
          aria-label="Commands"
          value={kind}
          onChange={(value) => choose(value as LatencyKind)}
          data={[...KINDS]}
        />
      }
    />
  );
}

/** Extend the window by one second, because charts also draw the second at their right edge. */
const withLastSecond = ({ from, to }: { from: number; to: number }) => ({ from, to: to + 1 });

function heatSource(live: Live, axis: TimeAxis, target: string, kind: LatencyKind): HeatSource {
  const listeners = new Set<() => void>();
  const history = new HeatHistory(
    (interval, signal) => latencyHistory({ of: target, kind, points: POINTS, ...interval }, signal),
    () => live.now(),
    () => {
      for (const listener of listeners) listener();
    },
  );
  return {
    read: (from, to) => {
      history.ensureRange(withLastSecond({ from, to }));
      return history.read(from, to + 1);
    },
    subscribe: (listener) => {
      listeners.add(listener);
      let lastWindow = '';
      const stop = live.onTick(() => {
        const { from, to } = axis.window();
        const now = `${from}-${to}`;
        // A fixed window is redrawn if it may contain new data.
        if (now !== lastWindow || history.dueRequest(withLastSecond({ from, to }))) listener();
        lastWindow = now;
      });
      return () => {
        listeners.delete(listener);
        stop();
        if (!listeners.size) history.cancel();
      };
    },
    reason: () => history.reason,
    pending: () => history.pending,
    apiCall: (from, to) => {
      const path = latencyHistoryPath({ of: target, kind, from, to, points: POINTS });
      return `curl -k -u "<user>:<password>" "${location.origin}${path}"`;
    },
  };
}
