/** Field for a password or another secret that the console stores and never returns. */
import { PasswordInput, type PasswordInputProps } from '@mantine/core';

interface Props extends PasswordInputProps {
  /** Term for the secret in the description. */
  noun: 'password' | 'secret';
  /** Whether the stored secret is kept if the field is empty. */
  isKept: boolean;
}

export function SecretField({ noun, isKept, description, ...inputProps }: Props) {
  return (
    <PasswordInput
      autoComplete="off"
      maxLength={1000}
      {...inputProps}
      description={isKept ? `If empty, the current ${noun} is kept` : description}
    />
  );
}
