/** Values of the form for the encryption of backups, and the fields of the requests that they make. Pure. */
import type { BackupLocation } from '@/api/types';

export interface EncryptionValues {
  isOn: boolean;
  /** Public keys, one per line. */
  recipients: string;
  /** Private keys to add, as in a file of `age-keygen`. */
  identities: string;
  /** Public keys whose stored private keys are deleted. */
  deleted: readonly string[];
}

export interface EncryptionRequest {
  recipients: string[];
  identities: string;
  delete_identities?: string[];
}

export const NO_ENCRYPTION: EncryptionValues = {
  isOn: false,
  recipients: '',
  identities: '',
  deleted: [],
};

export const encryptionValues = ({
  is_encrypted,
  recipients,
}: Pick<BackupLocation, 'is_encrypted' | 'recipients'>): EncryptionValues => ({
  ...NO_ENCRYPTION,
  isOn: is_encrypted,
  recipients: recipients.join('\n'),
});

export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);

/** Return why the public keys are invalid; undefined if they are valid or missing. */
export function recipientsError(text: string): string | undefined {
  const lines = linesOf(text);
  if (lines.some((line) => /^age-secret-key-/i.test(line)))
    return 'This is a private key. Enter the public key, which starts with age1';
  return lines.every((line) => /^age1[0-9a-z]+$/.test(line))
    ? undefined
    : 'Each line must be a public key, which starts with age1';
}

/** Return the fields of the request; undefined while public keys are missing or invalid. */
export function encryptionRequest(values: EncryptionValues): EncryptionRequest | undefined {
  const recipients = values.isOn ? linesOf(values.recipients) : [];
  if (values.isOn && (!recipients.length || recipientsError(values.recipients))) return undefined;
  return {
    recipients,
    identities: values.identities.trim(),
    ...(values.deleted.length && { delete_identities: [...values.deleted] }),
  };
}

/** Add a created key pair. Its private key is only stored if the user leaves it in the form. */
export const withKey = (
  values: EncryptionValues,
  key: { recipient: string; identity: string },
): EncryptionValues => ({
  ...values,
  isOn: true,
  recipients: [...linesOf(values.recipients), key.recipient].join('\n'),
  identities: [...linesOf(values.identities), key.identity].join('\n'),
});
