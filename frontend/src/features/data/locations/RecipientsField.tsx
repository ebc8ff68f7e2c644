/** Field for the public keys that encrypt files. */
import { Textarea } from '@mantine/core';
import { recipientsError } from './encryptionForm';

interface Props {
  description: string;
  /** Public keys, one per line. */
  value: string;
  onChange: (value: string) => void;
  required?: boolean;
  /** Why the console rejected them. */
  error?: string | undefined;
}

export function RecipientsField({ description, value, onChange, required = false, error }: Props) {
  return (
    <Textarea
      label="Public keys"
      description={description}
      required={required}
      autosize
      minRows={1}
      maxRows={4}
      maxLength={2_048}
      spellCheck={false}
      error={recipientsError(value) ?? error}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
