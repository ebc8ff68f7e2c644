/** Backups page: backups of all databases, restore points, and storage locations. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ClusterBackups } from '@/features/data/ClusterBackups';
import classes from './pages.module.css';

export function BackupsPage() {
  const { bdb, status, backup } = useSearch({ from: '/shell/backups' });
  const navigate = useNavigate({ from: '/backups' });
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Backups</h1>
      </div>
      <ClusterBackups
        filter={{ bdb, status }}
        onFilter={(filter) => navigate({ search: (now) => ({ ...now, ...filter }), replace: true })}
        opened={backup}
        onOpen={(uid) => navigate({ search: (now) => ({ ...now, backup: uid }), replace: true })}
      />
    </div>
  );
}
