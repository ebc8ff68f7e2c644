/** All databases. */
import { useQuery } from '@tanstack/react-query';
import { bdbsQuery } from '@/api/bdbs';
import { CreateButton } from '@/features/databases/CreateButton';
import { DatabaseTable } from '@/features/databases/DatabaseTable';
import { FirstSteps } from '@/features/databases/FirstSteps';
import { AddNodeButton } from '@/features/nodes/AddNode';
import { Card } from '@/ui/Card';
import classes from './pages.module.css';

export function DatabasesPage() {
  const { data: bdbs } = useQuery(bdbsQuery);
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Databases</h1>
        {bdbs?.length !== 0 && <CreateButton />}
      </div>
      <Card flush>
        <DatabaseTable
          empty={
            <FirstSteps
              addNode={(next) => <AddNodeButton variant={next ? 'filled' : 'default'} />}
            />
          }
        />
      </Card>
    </div>
  );
}
