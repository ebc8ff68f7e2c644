/** Warning about fields that another user changed during an edit. The user chooses which values to keep. */
import { Alert, Button, Group } from '@mantine/core';

export interface Conflict {
  label: string;
  /** Value when the edit started, current value, and value in the edit. */
  before: string;
  now: string;
  edited: string;
}

interface Props {
  conflicts: readonly Conflict[];
  onDiscard: () => void;
  onKeepEdited: () => void;
  className?: string | undefined;
}

export function Conflicts({ conflicts, onDiscard, onKeepEdited, className }: Props) {
  if (!conflicts.length) return null;
  return (
    <Alert
      className={className ?? ''}
      color="yellow"
      title="Another user has changed these values"
      role="alert"
    >
      <ul>
        {conflicts.map(({ label, before, now, edited }) => (
          <li key={label}>
            {label}: changed from {before} to {now}; your value is {edited}.
          </li>
        ))}
      </ul>
      <Group gap="xs">
        <Button variant="default" onClick={onDiscard}>
          Keep the current values
        </Button>
        <Button variant="default" onClick={onKeepEdited}>
          Use my values
        </Button>
      </Group>
    </Alert>
  );
}
