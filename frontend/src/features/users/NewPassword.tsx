/** Dialog to replace all passwords of another user, or to add or remove one. */
import { usePermission } from '@/api/access/session';
import { addPassword, changeUser, removePassword } from '@/api/access/users';
import type { User } from '@/api/types';
import { type PasswordChange, PasswordDialog } from '@/ui/forms/PasswordDialog';
import { PasswordField } from './PasswordField';
import { useInvalidateUsers } from './useInvalidateUsers';

export function NewPassword({ user, onClose }: { user: User; onClose: () => void }) {
  const invalidateAfter = useInvalidateUsers();
  const may = usePermission('administer');
  const count = user.passwords_count;
  const delayText = user.status === 'locked' ? ', and so does the delay after failed sign-ins' : '';
  const replace: PasswordChange = {
    label: 'Replace all passwords with the new one',
    action: 'Set password',
    effect: `All other passwords become invalid immediately. Sessions and tokens of this user end${delayText}.`,
    input: 'new',
    submit: (password) => invalidateAfter(changeUser(user.uid, { password })),
  };
  const add: PasswordChange = {
    label: 'Add the new password, so that you can update programs one after another',
    action: 'Add password',
    effect:
      'Existing sessions and tokens keep working. Update all programs, then remove the old password.',
    input: 'new',
    submit: (password) => invalidateAfter(addPassword(user.email, password)),
  };
  const remove: PasswordChange = {
    label: 'Remove one password',
    action: 'Remove password',
    effect: 'Sessions and tokens that were created with this password end. Others stay valid.',
    input: 'old',
    submit: (password) => invalidateAfter(removePassword(user.email, password)),
  };
  return (
    <PasswordDialog
      title={`Passwords of ${user.email}`}
      count={count}
      changes={[replace, ...(may ? [add] : []), ...(may && count > 1 ? [remove] : [])]}
      field={(password, onChange) => (
        <PasswordField label="New password" value={password} onChange={onChange} autoFocus />
      )}
      onClose={onClose}
    />
  );
}
