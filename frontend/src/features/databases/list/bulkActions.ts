/** Actions for several databases at once. */
import { deleteBdb, rebalance, resumeTraffic, stopTraffic } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';

export interface BulkAction {
  id: 'stop' | 'resume' | 'rebalance' | 'delete';
  label: string;
  /** Text that describes the effect. */
  warning: string;
  /** Whether the user has to type the number of databases to confirm. */
  confirmByTyping: boolean;
  /** Whether the state of the database allows the action. */
  isApplicable: (bdb: Bdb) => boolean;
  submit: (bdb: Bdb) => Promise<unknown>;
}

const isActive = ({ status }: Bdb): boolean => status === 'active';

export const BULK_ACTIONS: readonly BulkAction[] = [
  {
    id: 'rebalance',
    label: 'Rebalance',
    warning:
      'Shards move according to the placement policy of their database. The databases continue to serve requests.',
    confirmByTyping: false,
    isApplicable: isActive,
    submit: ({ uid }) => rebalance(uid, false),
  },
  {
    id: 'stop',
    label: 'Stop traffic',
    warning:
      'All clients are disconnected and cannot connect until you resume traffic. The data is kept, and failovers still take place.',
    confirmByTyping: true,
    isApplicable: (bdb) => isActive(bdb) && !bdb.traffic_manually_disabled,
    submit: ({ uid }) => stopTraffic(uid),
  },
  {
    id: 'resume',
    label: 'Resume traffic',
    warning: 'Clients can connect again.',
    confirmByTyping: false,
    isApplicable: (bdb) => isActive(bdb) && bdb.traffic_manually_disabled,
    submit: ({ uid }) => resumeTraffic(uid),
  },
  {
    id: 'delete',
    label: 'Delete',
    warning: 'All shards are stopped and all data is deleted. This cannot be undone.',
    confirmByTyping: true,
    isApplicable: ({ status }) => status !== 'delete-pending',
    submit: ({ uid }) => deleteBdb(uid),
  },
];
