/** How a database on flash divides its memory, in the console's arithmetic. Pure. */
import type { Bdb } from '@/api/types';

export const RAM_PERCENT_MIN = 10;
/** Above, flash hardly pays. */
export const RAM_PERCENT_ADVISED = 50;
/** A replicated shard has nearly this much before its first key. */
export const SHARD_RAM_MIN = 16 * 2 ** 20;

export const ramBytes = (memory: number, percent: number): number =>
  percent >= 100 ? memory : Math.ceil((memory * percent) / 100);

export const ramPercent = (bdb: Pick<Bdb, 'memory_size' | 'bigstore_ram_size'>): number =>
  bdb.memory_size ? Math.round((100 * bdb.bigstore_ram_size) / bdb.memory_size) : 100;
