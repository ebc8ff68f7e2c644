/**
 * Tones of figures. A figure is highlighted exactly while an alarm about it is active, so colors, the cluster status and alarms
 * follow the same thresholds: the alert settings of the console. Pure.
 */
import type { Alert } from '@/ui/figure/paintFigure';
import type { LogEvent } from '../types';

type Alarms = readonly LogEvent[] | undefined;

export const cpuTone = (alarms: Alarms, node: number): Alert =>
  alarms?.some(({ type, node_uid }) => type === 'alarm_node_cpu_utilization' && node_uid === node)
    ? 'attention'
    : undefined;

export function memoryTone(alarms: Alarms, bdb: number): Alert {
  if (find(alarms, 'alarm_memory_full', bdb)) return 'broken';
  return find(alarms, 'alarm_bdb_size', bdb) && 'attention';
}

/** Return the tone of one shard of a database. `share`: its used part of its memory limit (0 to 1). */
export function shardMemoryTone(alarms: Alarms, bdb: number, shard: string, share: number): Alert {
  const full = find(alarms, 'alarm_memory_full', bdb)?.shards;
  if (Array.isArray(full) && full.map(String).includes(shard)) return 'broken';
  const size = find(alarms, 'alarm_bdb_size', bdb);
  return size && share * 100 > Number(size.threshold) ? 'attention' : undefined;
}

const find = (alarms: Alarms, wanted: string, bdb: number): LogEvent | undefined =>
  alarms?.find(({ type, bdb_uid }) => type === wanted && bdb_uid === bdb);
