/** Backups of all databases, their restore points, backups of the console, and the storage locations. */
import { Link } from '@tanstack/react-router';
import { EmptyState } from '@/ui/EmptyState';
import { BackupTable } from './backups/BackupTable';
import type { BackupFilter } from './backups/backupText';
import { ConsoleBackups } from './console/ConsoleBackups';
import { LocationTable } from './locations/LocationTable';
import { RecoveryPointTable } from './RecoveryPointTable';

interface Props {
  filter: BackupFilter;
  onFilter: (filter: BackupFilter) => void;
  opened: number | undefined;
  onOpen: (uid: number | undefined) => void;
}

export function ClusterBackups(props: Props) {
  return (
    <>
      <RecoveryPointTable />
      <BackupTable
        {...props}
        empty={
          <EmptyState title="No backups yet">
            <span>
              A backup stores the keys of a database outside the cluster. Add a location below, and
              then choose <em>Back up now…</em> on the <em>Backups</em> tab of a database.
            </span>
            <Link to="/databases">All databases</Link>
          </EmptyState>
        }
      />
      <ConsoleBackups />
      <LocationTable />
    </>
  );
}
