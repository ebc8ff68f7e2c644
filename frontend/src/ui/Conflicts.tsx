/** Fields that somebody else changed while they were edited here: the reader decides. */
import { Alert, Button, Group } from '@mantine/core';

export interface Conflict {
  label: string;
  /** As the reader knew it, as it is now, and as the reader wants it. */
  before: string;
  now: string;
  mine: string;
}

interface Props {
  conflicts: readonly Conflict[];
  onTheirs: () => void;
  onMine: () => void;
  className?: string | undefined;
}

export function Conflicts({ conflicts, onTheirs, onMine, className }: Props) {
  if (!conflicts.length) return null;
  return (
    <Alert
      className={className ?? ''}
      color="yellow"
      title="Somebody else changed this meanwhile"
      role="alert"
    >
      <ul>
        {conflicts.map(({ label, before, now, mine }) => (
          <li key={label}>
            {label}: it was {before} and is {now} now; you want {mine}.
          </li>
        ))}
      </ul>
      <Group gap="xs">
        <Button variant="default" onClick={onTheirs}>
          Leave it as it is now
        </Button>
        <Button variant="default" onClick={onMine}>
          Change it to mine
        </Button>
      </Group>
    </Alert>
  );
}
