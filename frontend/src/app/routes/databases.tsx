/** All databases. */
import { Button } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
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
        <Button component={Link} to="/databases/new" leftSection={<IconPlus size={14} />}>
          Create database
        </Button>
      </div>
      <Card flush>
        <DatabaseTable empty={<FirstSteps addNode={<AddNodeButton variant="default" />} />} />
      </Card>
    </div>
  );
}
