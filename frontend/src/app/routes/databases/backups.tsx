/** Backups tab: backups of the database, restores, imports and the schedule. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { DatabaseBackups } from '@/features/data/DatabaseBackups';
import { useTabBdb } from './page';

export function DatabaseBackupsTab() {
  const bdb = useTabBdb();
  const { status, backup } = useSearch({ from: '/shell/databases/$uid/backups' });
  const navigate = useNavigate({ from: '/databases/$uid/backups' });
  if (!bdb) return null;
  return (
    <DatabaseBackups
      bdb={bdb}
      filter={{ status }}
      onFilter={(filter) =>
        navigate({ search: (now) => ({ ...now, status: filter.status }), replace: true })
      }
      opened={backup}
      onOpen={(uid) => navigate({ search: (now) => ({ ...now, backup: uid }), replace: true })}
    />
  );
}
