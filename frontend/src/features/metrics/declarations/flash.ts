/** Charts of databases on flash. */
import { COLOR } from '@/ui/chart/palette';
import { type ChartDeclaration, singleMetricChart } from './charts';

const NO_ACCESSES = 'No keys were accessed in this time range.';

export const RAM_HIT: ChartDeclaration = singleMetricChart(
  {
    id: 'ram-hit',
    title: 'RAM hit ratio',
    unit: 'ratio',
    metric: 'ram_hit_ratio',
    color: COLOR.ram,
  },
  { max: 1, emptyReason: NO_ACCESSES },
  { label: 'All' },
);

const RAM_HIT_BY_OPERATION: ChartDeclaration = {
  id: 'ram-hit-kinds',
  title: 'RAM hit ratio by operation',
  unit: 'ratio',
  kind: 'lines',
  max: 1,
  emptyReason: NO_ACCESSES,
  series: [
    { metric: 'fetch_ram_hit_ratio', label: 'Fetched', color: COLOR.read },
    { metric: 'write_ram_hit_ratio', label: 'Written', color: COLOR.write },
    { metric: 'del_ram_hit_ratio', label: 'Deleted', color: COLOR.other },
  ],
};

export const FLASH_RATIOS: readonly ChartDeclaration[] = [RAM_HIT, RAM_HIT_BY_OPERATION];

export const FLASH_CHARTS: readonly ChartDeclaration[] = [
  {
    id: 'used-ram',
    title: 'Used RAM',
    unit: 'bytes',
    kind: 'lines',
    rollup: 'last',
    series: [{ metric: 'used_ram', label: 'Used', color: COLOR.ram }],
    limit: { label: 'Limit', key: 'ram' },
  },
  {
    id: 'used-flash',
    title: 'Used flash',
    unit: 'bytes',
    kind: 'lines',
    rollup: 'last',
    series: [
      { metric: 'used_bigstore', label: 'Live values', color: COLOR.flash },
      { metric: 'flash_file_bytes', label: 'Files', color: COLOR.other },
    ],
    limit: { label: 'Limit', key: 'flash' },
  },
  {
    id: 'flash-values',
    title: 'Values',
    unit: 'count',
    kind: 'stacked',
    rollup: 'last',
    series: [
      { metric: 'bigstore_objs_ram', label: 'In RAM', color: COLOR.ram },
      { metric: 'bigstore_objs_flash', label: 'On flash', color: COLOR.flash },
    ],
  },
  {
    id: 'flash-accesses',
    title: 'Key accesses',
    unit: 'ops',
    kind: 'lines',
    series: [
      { metric: 'big_io_ratio_redis', label: 'Keys', color: COLOR.ram },
      { metric: 'big_io_ratio_flash', label: 'Flash operations', color: COLOR.flash },
    ],
  },
  {
    id: 'flash-bytes',
    title: 'Flash traffic',
    unit: 'bytesPerSecond',
    kind: 'lines',
    series: [
      { metric: 'bigstore_io_read_bytes', label: 'Read', color: COLOR.read },
      { metric: 'bigstore_io_write_bytes', label: 'Written', color: COLOR.write },
    ],
  },
  {
    id: 'flash-ops',
    title: 'Flash operations',
    unit: 'ops',
    kind: 'lines',
    series: [
      { metric: 'bigstore_io_reads', label: 'Reads', color: COLOR.read },
      { metric: 'bigstore_io_writes', label: 'Writes', color: COLOR.write },
    ],
  },
  {
    id: 'flash-latency',
    title: 'Flash read latency',
    unit: 'latency',
    kind: 'lines',
    emptyReason: 'No values were read from flash in this time range.',
    series: [
      { metric: 'flash_read_p50', label: 'P50', color: COLOR.p50 },
      { metric: 'flash_read_p99', label: 'P99', color: COLOR.p99 },
    ],
  },
  {
    id: 'flash-moves',
    title: 'Values moved',
    unit: 'perSecond',
    kind: 'lines',
    series: [
      { metric: 'promotions', label: 'To RAM', color: COLOR.ram },
      { metric: 'demotions_dirty', label: 'To flash (written)', color: COLOR.flash },
      { metric: 'demotions_clean', label: 'To flash (already stored)', color: COLOR.other },
    ],
  },
  singleMetricChart(
    {
      id: 'flash-fragmentation',
      title: 'Flash fragmentation',
      unit: 'plain',
      metric: 'disk_frag_ratio',
      color: COLOR.flash,
    },
    { rollup: 'last', emptyReason: 'No values are stored on flash.' },
  ),
];
