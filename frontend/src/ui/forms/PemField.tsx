/** Text field for PEM content and keys, pasted or read from a file. */
import { Button, FileButton, Textarea } from '@mantine/core';
import classes from './forms.module.css';

interface Props {
  label: string;
  description: string;
  value: string;
  onChange: (value: string) => void;
  /** Why the value was rejected. */
  error?: string | undefined;
}

/** Maximum length in bytes. Larger files are not PEM, and a file that was chosen by mistake must not block the web UI. */
const MAX_LENGTH = 64 * 1024;

export function PemField({ label, description, value, onChange, error }: Props) {
  const read = async (file: File | null) => {
    if (file) onChange(await file.slice(0, MAX_LENGTH).text());
  };
  return (
    <div className={classes.pem}>
      <Textarea
        label={label}
        description={description}
        rows={5}
        maxLength={MAX_LENGTH}
        spellCheck={false}
        autoComplete="off"
        error={error}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        classNames={{ input: classes.pemText ?? '' }}
      />
      <FileButton onChange={read}>
        {(props) => (
          <Button {...props} variant="subtle" size="compact-sm">
            Choose file…
          </Button>
        )}
      </FileButton>
    </div>
  );
}
