/** Memory of flash databases, calculated in the same way as in the console. Pure functions. */
import type { Bdb } from '@/api/types';

export const RAM_PERCENT_MIN = 10;
/** With a higher percentage, flash has little benefit. */
export const RAM_PERCENT_ADVISED = 50;
/** Minimum in bytes: an empty replicated shard uses almost this much RAM. */
export const SHARD_RAM_MIN = 16 * 2 ** 20;

export const ramBytes = (memory: number, percent: number): number =>
  percent >= 100 ? memory : Math.ceil((memory * percent) / 100);

export const ramPercent = (bdb: Pick<Bdb, 'memory_size' | 'bigstore_ram_size'>): number =>
  bdb.memory_size ? Math.round((100 * bdb.bigstore_ram_size) / bdb.memory_size) : 100;
