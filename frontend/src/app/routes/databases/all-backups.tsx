/** Backups page: backups of all databases, restore points, and storage locations. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ClusterBackups } from '@/features/data/ClusterBackups';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function BackupsPage() {
  const { bdb, status, backup } = useSearch({ from: '/shell/databases/backups' });
  const navigate = useNavigate({ from: '/databases/backups' });
  return (
    <div className={classes.page}>
      <SectionHead section="databases" />
      <ClusterBackups
        filter={{ bdb, status }}
        onFilter={(filter) => navigate({ search: (now) => ({ ...now, ...filter }), replace: true })}
        opened={backup}
        onOpen={(uid) => navigate({ search: (now) => ({ ...now, backup: uid }), replace: true })}
      />
    </div>
  );
}
