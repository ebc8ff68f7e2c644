/** Fields that somebody else changed while they were edited here: the reader decides. */
import { Alert, Button } from '@mantine/core';
import type { Bdb } from '@/api/types';
import classes from './databases.module.css';
import { type Conflict, type Edit, keepMine, LABELS, takeTheirs } from './edit';

interface Props {
  bdb: Bdb;
  conflicts: readonly Conflict[];
  onDecide: (change: (edit: Edit) => Edit) => void;
}

export function EditConflicts({ bdb, conflicts, onDecide }: Props) {
  if (!conflicts.length) return null;
  const fields = conflicts.map(({ field }) => field);
  return (
    <Alert
      className={classes.wide}
      color="yellow"
      title="Somebody else changed this meanwhile"
      role="alert"
    >
      <ul>
        {conflicts.map(({ field, before, now, mine }) => (
          <li key={field}>
            {LABELS[field]}: it was {before} and is {now} now; you want {mine}.
          </li>
        ))}
      </ul>
      <div className={classes.buttons}>
        <Button variant="default" onClick={() => onDecide((edit) => takeTheirs(edit, fields))}>
          Leave it as it is now
        </Button>
        <Button variant="default" onClick={() => onDecide((edit) => keepMine(edit, fields, bdb))}>
          Change it to mine
        </Button>
      </div>
    </Alert>
  );
}
