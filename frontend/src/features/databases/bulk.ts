/** What can be ordered for several databases at once. */
import { deleteBdb, rebalance, resumeTraffic, stopTraffic } from '@/api/bdbs';
import type { Bdb } from '@/api/types';

export interface BulkAction {
  id: 'stop' | 'resume' | 'rebalance' | 'delete';
  label: string;
  /** What will happen, in a sentence. */
  warning: string;
  /** Asks for the number of databases to be typed. */
  typed: boolean;
  /** Databases that it makes sense for. */
  fits: (bdb: Bdb) => boolean;
  order: (bdb: Bdb) => Promise<unknown>;
}

const isActive = ({ status }: Bdb): boolean => status === 'active';

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    id: 'rebalance',
    label: 'Rebalance',
    warning:
      'Shards go where the placement of their database wants them, while the databases go on serving.',
    typed: false,
    fits: isActive,
    order: ({ uid }) => rebalance(uid, false),
  },
  {
    id: 'stop',
    label: 'Stop traffic',
    warning:
      'All their clients are disconnected, and nobody can connect until traffic is resumed. Data stays, and failovers go on.',
    typed: true,
    fits: (bdb) => isActive(bdb) && !bdb.traffic_manually_disabled,
    order: ({ uid }) => stopTraffic(uid),
  },
  {
    id: 'resume',
    label: 'Resume traffic',
    warning: 'Clients can connect again.',
    typed: false,
    fits: (bdb) => isActive(bdb) && bdb.traffic_manually_disabled,
    order: ({ uid }) => resumeTraffic(uid),
  },
  {
    id: 'delete',
    label: 'Delete',
    warning: 'All their shards are stopped and all their data is removed. This cannot be undone.',
    typed: true,
    fits: ({ status }) => status !== 'delete-pending',
    order: ({ uid }) => deleteBdb(uid),
  },
];
