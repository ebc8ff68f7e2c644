/** Setup of an authenticator app, the field for its code, and the recovery codes. */
import { Loader, TextInput } from '@mantine/core';
import { QRCodeSVG } from 'qrcode.react';
import { CopyBlock, CopyInline } from '../Copy';
import classes from '../ui.module.css';

interface AppSecretData {
  secret: string;
  uri: string;
}

/** The secret of an authenticator app as QR code and as text. */
export function AuthenticatorSecret({ secret }: { secret: AppSecretData | undefined }) {
  return (
    <>
      <div className={classes.qr}>
        {secret ? (
          <QRCodeSVG
            title="QR code for the authenticator app"
            value={secret.uri}
            size={176}
            marginSize={2}
          />
        ) : (
          <Loader />
        )}
      </div>
      {secret && (
        <span className={classes.appSecret}>
          Or enter this secret: <CopyInline text={secret.secret} label="Copy secret" />
        </span>
      )}
    </>
  );
}

interface FieldProps {
  /** Name of the input element. Set a different name if the page has two code fields. */
  name?: string;
  label: string;
  description?: string;
  value: string;
  onChange: (value: string) => void;
  autoFocus?: boolean;
}

export function CodeField({
  name = 'code',
  label,
  description,
  value,
  onChange,
  autoFocus,
}: FieldProps) {
  return (
    <TextInput
      label={label}
      description={description}
      name={name}
      autoComplete={name === 'code' ? 'one-time-code' : 'off'}
      required
      withAsterisk={false}
      maxLength={64}
      {...(autoFocus && { 'data-autofocus': true, autoFocus: true })}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function RecoveryCodeList({ codes }: { codes: readonly string[] }) {
  return (
    <>
      <span>
        These are your recovery codes. They are shown only once. Store them where you can find them
        without your phone: each code can be used once instead of a code from the app.
      </span>
      <CopyBlock text={codes.join('\n')} label="Copy recovery codes" />
    </>
  );
}
