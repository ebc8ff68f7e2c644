import { describe, expect, it } from 'vitest';
import {
  encryptionRequest,
  encryptionValues,
  NO_ENCRYPTION,
  recipientsError,
  withKey,
} from './encryptionForm';

const KEY = { recipient: 'age1abc', identity: 'AGE-SECRET-KEY-1ABC' };

describe('the encryption of a location', () => {
  it('is off by default, and requires a valid public key', () => {
    expect(encryptionRequest(NO_ENCRYPTION)).toEqual({ recipients: [], identities: '' });
    expect(encryptionRequest({ ...NO_ENCRYPTION, isOn: true })).toBeUndefined();
    expect(
      encryptionRequest({ ...NO_ENCRYPTION, isOn: true, recipients: 'ssh-rsa' }),
    ).toBeUndefined();
  });

  it('keeps the stored private keys unless they are deleted', () => {
    const values = encryptionValues({ is_encrypted: true, recipients: ['age1abc', 'age1def'] });
    expect(encryptionRequest(values)).toEqual({
      recipients: ['age1abc', 'age1def'],
      identities: '',
    });
    expect(encryptionRequest({ ...values, isOn: false, deleted: ['age1abc'] })).toEqual({
      recipients: [],
      identities: '',
      delete_identities: ['age1abc'],
    });
  });

  it('uses a created key', () => {
    const values = withKey({ ...NO_ENCRYPTION, recipients: 'age1def\n' }, KEY);
    expect(encryptionRequest(values)).toEqual({
      recipients: ['age1def', 'age1abc'],
      identities: KEY.identity,
    });
  });

  it('detects a private key in place of a public key', () => {
    expect(recipientsError(KEY.identity)).toContain('private key');
    expect(recipientsError('age1abc\n\n age1def ')).toBeUndefined();
  });
});
