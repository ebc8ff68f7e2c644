/** Page with all databases. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { bdbsQuery } from '@/api/bdbs';
import { CreateButton } from '@/features/databases/CreateButton';
import { DatabaseList } from '@/features/databases/DatabaseList';
import { FirstSteps } from '@/features/databases/FirstSteps';
import { AddNodeButton } from '@/features/nodes/AddNode';
import classes from './pages.module.css';

export function DatabasesPage() {
  const { data: bdbs } = useQuery(bdbsQuery);
  const { q = '' } = useSearch({ from: '/shell/databases' });
  const navigate = useNavigate({ from: '/databases' });
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Databases</h1>
        {bdbs?.length !== 0 && <CreateButton />}
      </div>
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
