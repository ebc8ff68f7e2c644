/** Page with all databases. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { bdbsQuery } from '@/api/databases/bdbs';
import { CreateButton } from '@/features/databases/create/CreateButton';
import { FirstSteps } from '@/features/databases/create/FirstSteps';
import { DatabaseList } from '@/features/databases/list/DatabaseList';
import { AddNodeButton } from '@/features/nodes/AddNode';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function DatabasesPage() {
  const { data: bdbs } = useQuery(bdbsQuery);
  const { q = '' } = useSearch({ from: '/shell/databases' });
  const navigate = useNavigate({ from: '/databases' });
  return (
    <div className={classes.page}>
      <SectionHead section="databases">{bdbs?.length !== 0 && <CreateButton />}</SectionHead>
      <DatabaseList
        text={q}
        onText={(text) =>
          navigate({ search: (now) => ({ ...now, q: text || undefined }), replace: true })
        }
        empty={
          <FirstSteps addNode={(next) => <AddNodeButton variant={next ? 'filled' : 'default'} />} />
        }
      />
    </div>
  );
}
