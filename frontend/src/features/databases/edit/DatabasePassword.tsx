/** Dialog for the passwords of the default user of an existing database. */
import { PasswordInput } from '@mantine/core';
import { addPassword, removePassword, replacePassword, useUpdateBdb } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { type PasswordChange, PasswordDialog } from '@/ui/forms/PasswordDialog';
import { passwordError } from '../fields/validate';

export function DatabasePassword({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const update = useUpdateBdb(bdb.uid);
  const isRequired = bdb.authentication;
  const replace: PasswordChange = {
    label: 'Only the new password',
    action: 'Change password',
    effect: isRequired
      ? 'Authenticated clients stay connected. New connections require the new password.'
      : 'All clients, including connected ones, must authenticate before their next command.',
    input: 'new',
    submit: (password) => replacePassword(bdb.uid, password),
  };
  const add: PasswordChange = {
    label: 'The new password in addition, so that you can update applications one by one',
    action: 'Add password',
    effect:
      'Existing connections keep working. Update all applications, then remove the old password.',
    input: 'new',
    submit: (password) => addPassword(bdb.uid, password),
  };
  const remove: PasswordChange = {
    label: 'Remove one password',
    action: 'Remove password',
    effect: 'Clients that authenticated with it stay connected. New connections cannot use it.',
    input: 'old',
    submit: (password) => removePassword(bdb.uid, password),
  };
  const none: PasswordChange = {
    label: 'None: anyone who can reach the port can use the database',
    action: 'Remove all passwords',
    effect: 'Clients no longer need a password.',
    input: 'nothing',
    submit: () => update({ authentication_redis_pass: '' }),
  };
  const options = [add, ...(bdb.passwords_count > 1 ? [remove] : []), none];
  return (
    <PasswordDialog
      title={`Change the password of ${bdb.name}`}
      count={bdb.passwords_count}
      changes={[replace, ...(isRequired ? options : [])]}
      validate={passwordError}
      field={(password, onChange) => (
        <PasswordInput
          label="New password"
          description="Password of the default user. Clients send it with AUTH."
          autoComplete="new-password"
          data-autofocus
          value={password}
          error={passwordError(password)}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
      onClose={onClose}
    />
  );
}
