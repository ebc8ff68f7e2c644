/** All databases. */
import { CreateButton } from '@/features/databases/CreateButton';
import { DatabaseTable } from '@/features/databases/DatabaseTable';
import { FirstSteps } from '@/features/databases/FirstSteps';
import { AddNodeButton } from '@/features/nodes/AddNode';
import { Card } from '@/ui/Card';
import classes from './pages.module.css';

export function DatabasesPage() {
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Databases</h1>
        <CreateButton />
      </div>
      <Card flush>
        <DatabaseTable empty={<FirstSteps addNode={<AddNodeButton variant="default" />} />} />
      </Card>
    </div>
  );
}
