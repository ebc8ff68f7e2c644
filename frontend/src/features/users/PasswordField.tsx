/** Field for a new password, entered or generated. A generated password is visible, so that it can be copied. */
import { Button, PasswordInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { CopyButton } from '@/ui/Copy';
import { generatePassword } from './generatePassword';
import classes from './users.module.css';

interface Props {
  label: string;
  value: string;
  onChange: (value: string) => void;
  autoFocus?: boolean;
}

export function PasswordField({ label, value, onChange, autoFocus }: Props) {
  const [isVisible, { set, toggle }] = useDisclosure(false);
  return (
    <div className={classes.password}>
      <PasswordInput
        label={label}
        autoComplete="new-password"
        required
        maxLength={256}
        data-autofocus={autoFocus}
        visible={isVisible}
        onVisibilityChange={toggle}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <Button
        variant="default"
        onClick={() => {
          onChange(generatePassword());
          set(true);
        }}
      >
        Generate
      </Button>
      {value && <CopyButton text={value} label="Copy password" />}
    </div>
  );
}
