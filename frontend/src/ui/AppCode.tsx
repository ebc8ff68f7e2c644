/** What sets an authenticator app up, and what signs in without it. */
import { Loader, TextInput } from '@mantine/core';
import { QRCodeSVG } from 'qrcode.react';
import { CopyBlock, CopyInline } from './Copy';
import classes from './ui.module.css';

interface Given {
  secret: string;
  uri: string;
}

/** A picture for the phone's camera, and the same as text. */
export function AppSecret({ given }: { given: Given | undefined }) {
  return (
    <>
      <div className={classes.qr}>
        {given ? (
          <QRCodeSVG title="Picture for the app" value={given.uri} size={176} marginSize={2} />
        ) : (
          <Loader />
        )}
      </div>
      {given && (
        <span className={classes.appSecret}>
          Or type the secret: <CopyInline text={given.secret} label="Copy the secret" />
        </span>
      )}
    </>
  );
}

interface FieldProps {
  /** Another one where a page asks for two. */
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

export function CodesToKeep({ codes }: { codes: readonly string[] }) {
  return (
    <>
      <span>
        These are your recovery codes, shown this once only. Keep them where you find them without
        your phone: each signs you in once in place of the app’s code.
      </span>
      <CopyBlock text={codes.join('\n')} label="Copy the recovery codes" />
    </>
  );
}
