/** Availability tab: months of one database and their incidents. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { DatabaseAvailability } from '@/features/availability/DatabaseAvailability';
import { DEFAULT_TARGET } from '@/features/availability/serviceLevel';

export function DatabaseAvailabilityTab() {
  const { uid } = useParams({ from: '/shell/databases/$uid/availability' });
  const { month, target = DEFAULT_TARGET } = useSearch({
    from: '/shell/databases/$uid/availability',
  });
  const navigate = useNavigate({ from: '/databases/$uid/availability' });
  return (
    <DatabaseAvailability
      bdb={Number(uid)}
      month={month}
      target={target}
      onChange={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
    />
  );
}
