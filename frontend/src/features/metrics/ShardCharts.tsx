/** One metric, all shards: small multiples with outliers first, or one chart with the top ones. */
import { Button, NativeSelect, SegmentedControl } from '@mantine/core';
import { useEffect, useMemo, useState } from 'react';
import type { Shard } from '@/api/types';
import { plural } from '@/lib/format';
import { useLive, useTopic } from '@/live/LiveProvider';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import { SHARD_METRICS, type ShardMetric } from './dashboards';
import classes from './metrics.module.css';
import { byOutlier } from './outliers';
import { ShardTile } from './ShardTile';
import { TopShards } from './TopShards';

const PAGE = 48;
const RANK_EVERY_MS = 10_000;

interface Props {
  bdbUid: number;
  shards: readonly Shard[];
  metric: string | undefined;
  view: 'tiles' | 'top';
  onChange: (change: { metric?: string; view?: 'top' | undefined }) => void;
}

export function ShardCharts({ bdbUid, shards, metric, view, onChange }: Props) {
  const topic = `shards:${bdbUid}`;
  useTopic(topic);
  const chosen = SHARD_METRICS.find((entry) => entry.metric === metric) ?? SHARD_METRICS[0];
  const [primariesOnly, setPrimariesOnly] = useState(true);
  const listed = primariesOnly ? shards.filter((shard) => shard.role === 'master') : shards;
  const ranked = useRanking(topic, listed, chosen?.metric ?? 'total_req');
  const [limit, setLimit] = useState(PAGE);
  if (!chosen) return null;

  return (
    <div className={classes.stack}>
      <div className={classes.bar}>
        <NativeSelect
          size="xs"
          aria-label="Metric"
          value={chosen.metric}
          onChange={(event) => onChange({ metric: event.currentTarget.value })}
          data={SHARD_METRICS.map(({ metric: value, title: label }) => ({ value, label }))}
        />
        <SegmentedControl
          aria-label="Layout"
          value={view}
          onChange={(value) => onChange({ view: value === 'top' ? 'top' : undefined })}
          data={[
            { value: 'tiles', label: 'Small multiples' },
            { value: 'top', label: 'Top shards' },
          ]}
        />
        <SegmentedControl
          aria-label="Roles"
          value={primariesOnly ? 'primaries' : 'all'}
          onChange={(value) => setPrimariesOnly(value === 'primaries')}
          data={[
            { value: 'primaries', label: 'Primaries' },
            { value: 'all', label: 'All shards' },
          ]}
        />
        <span className="dim">Farthest from the median first</span>
      </div>
      {view === 'top' ? (
        <TopShards topic={topic} metric={chosen} ranked={ranked} />
      ) : (
        <Tiles topic={topic} metric={chosen} uids={ranked.slice(0, limit)} shards={shards} />
      )}
      {view === 'tiles' && ranked.length > limit && (
        <Button variant="default" onClick={() => setLimit(limit + PAGE)}>
          Show {plural(Math.min(PAGE, ranked.length - limit), 'more shard')} of {ranked.length}
        </Button>
      )}
    </div>
  );
}

interface TilesProps {
  topic: string;
  metric: ShardMetric;
  uids: readonly string[];
  shards: readonly Shard[];
}

function Tiles({ topic, metric, uids, shards }: TilesProps) {
  const live = useLive();
  const byUid = new Map(shards.map((shard) => [shard.uid, shard]));
  const axis = useTimeAxis();
  // One scale for all tiles, or they could not be compared; looked up once per redraw.
  const max = useMemo(() => {
    let of = '';
    let top = 0;
    return () => {
      const { from, to } = axis.window();
      if (of !== `${from}-${to}`) {
        of = `${from}-${to}`;
        const ring = live.ring(topic);
        top = largest(uids.map((uid) => ring.read(uid, metric.metric, from, to)));
      }
      return top;
    };
  }, [live, axis, topic, metric, uids]);
  return (
    <div className={classes.tiles}>
      {uids.map((uid) => {
        const shard = byUid.get(uid);
        return (
          shard && <ShardTile key={uid} topic={topic} metric={metric} shard={shard} max={max} />
        );
      })}
    </div>
  );
}

function largest(rows: readonly Float64Array[]): number {
  let top = 0;
  for (const row of rows) for (const value of row) if (value > top) top = value;
  return top;
}

/** Ranks now and then, not with every sample: tiles that swap places cannot be read. */
function useRanking(topic: string, shards: readonly Shard[], metric: string): readonly string[] {
  const live = useLive();
  const uids = shards.map((shard) => shard.uid).join();
  const [ranked, setRanked] = useState<readonly string[]>(() => uids.split(',').filter(Boolean));
  useEffect(() => {
    const rank = () => {
      const edge = live.edge();
      const ring = live.ring(topic);
      const series = uids
        .split(',')
        .filter(Boolean)
        .map((uid) => ({ uid, values: ring.read(uid, metric, edge - 60, edge) }));
      setRanked(byOutlier(series).map(({ uid }) => uid));
    };
    rank();
    const first = setTimeout(rank, 1_500);
    const timer = setInterval(rank, RANK_EVERY_MS);
    return () => {
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [live, topic, uids, metric]);
  return ranked;
}
