/** Actions for several databases at once. */
import { deleteBdb, rebalance, resumeTraffic, stopTraffic } from '@/api/bdbs';
import type { Bdb } from '@/api/types';

export interface BulkAction {
  id: 'stop' | 'resume' | 'rebalance' | 'delete';
  label: string;
  /** Text that describes the effect. */
  warning: string;
  /** Whether the user has to type the number of databases to confirm. */
  typed: boolean;
  /** Whether the state of the database allows the action. */
  fits: (bdb: Bdb) => boolean;
  order: (bdb: Bdb) => Promise<unknown>;
}

const isActive = ({ status }: Bdb): boolean => status === 'active';

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    id: 'rebalance',
    label: 'Rebalance',
    warning:
      'Shards move according to the placement policy of their database. The databases continue to serve requests.',
    typed: false,
    fits: isActive,
    order: ({ uid }) => rebalance(uid, false),
  },
  {
    id: 'stop',
    label: 'Stop traffic',
    warning:
      'All clients are disconnected and cannot connect until you resume traffic. The data is kept, and failovers still take place.',
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
    warning: 'All shards are stopped and all data is deleted. This cannot be undone.',
    typed: true,
    fits: ({ status }) => status !== 'delete-pending',
    order: ({ uid }) => deleteBdb(uid),
  },
];
