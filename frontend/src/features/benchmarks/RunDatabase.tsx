/** Name of the database of a run. */
import { useDatabaseName } from '@/api/databases/bdbs';
import type { Benchmark } from '@/api/types';

export function RunDatabase({ run }: { run: Pick<Benchmark, 'bdb_uid' | 'bdb_name'> }) {
  return useDatabaseName({ uid: run.bdb_uid, name: run.bdb_name });
}
