/** Page with the availability of all databases by month. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ClusterAvailability } from '@/features/availability/ClusterAvailability';
import { DEFAULT_TARGET } from '@/features/availability/serviceLevel';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function AvailabilityPage() {
  const { month, target = DEFAULT_TARGET } = useSearch({ from: '/shell/databases/availability' });
  const navigate = useNavigate({ from: '/databases/availability' });
  return (
    <div className={classes.page}>
      <SectionHead section="databases" />
      <ClusterAvailability
        month={month}
        target={target}
        onChange={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
      />
    </div>
  );
}
