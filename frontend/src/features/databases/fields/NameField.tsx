/** Name of a database. A name that another database has must be confirmed. */
import { Checkbox, TextInput } from '@mantine/core';

interface NameFieldProps {
  name: string;
  /** Whether another database has the name. */
  taken: boolean;
  /** Whether the user has confirmed the name. */
  accepted: boolean;
  error: string | undefined;
  onChange: (name: string) => void;
  onAccept: (accepted: boolean) => void;
  autoFocus?: boolean;
}

export function NameField(props: NameFieldProps) {
  const { name, taken, accepted, error, onChange, onAccept, autoFocus } = props;
  return (
    <div>
      <TextInput
        label="Name"
        description="1 to 63 letters, digits, and hyphens."
        value={name}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
        autoComplete="off"
        spellCheck={false}
        data-autofocus={autoFocus}
      />
      {taken && (
        <Checkbox
          mt="xs"
          size="xs"
          label="Use this name anyway"
          description="The web UI then shows both databases with their uid."
          checked={accepted}
          onChange={(event) => onAccept(event.currentTarget.checked)}
        />
      )}
    </div>
  );
}
