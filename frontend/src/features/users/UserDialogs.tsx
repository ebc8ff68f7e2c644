/** Dialogs to add, edit and remove a user, and to change your password. */
import { NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { rolesQuery } from '@/api/access/roles';
import { sessionQuery } from '@/api/access/session';
import { ssoStatusQuery } from '@/api/access/sso';
import { changeUser, createUser, removeUser, usersQuery } from '@/api/access/users';
import type { Session, User } from '@/api/types';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PasswordField } from './PasswordField';
import { RoleField } from './RoleField';
import { roleDeniedReason, roleFields, roleFormValue, roleLabel } from './roles';
import { useInvalidateUsers } from './useInvalidateUsers';

interface CloseProps {
  onClose: () => void;
}

interface UserProps extends CloseProps {
  user: User;
}

export function AddUser({ onClose }: CloseProps) {
  const invalidateAfter = useInvalidateUsers();
  const [email, setEmail] = useState('');
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [role, setRole] = useState('db_viewer');
  const [method, setMethod] = useState('regular');
  const { data: roles = [] } = useQuery(rolesQuery);
  const ssoName = useQuery(ssoStatusQuery).data?.name;
  const usesSso = method === 'sso';
  const newUser = {
    email,
    name,
    ...(usesSso ? { auth_method: 'sso' as const } : { password }),
    ...roleFields(role, roles),
  };
  return (
    <SubmitDialog
      title="Add user"
      action="Add user"
      disabled={!email || (!usesSso && !password)}
      onConfirm={() => invalidateAfter(createUser(newUser))}
      onClose={onClose}
    >
      <TextInput
        label="Username"
        description="An email address or another name; cannot be changed later"
        required
        maxLength={254}
        autoComplete="off"
        data-autofocus
        value={email}
        onChange={(event) => setEmail(event.currentTarget.value)}
      />
      <NameField value={name} onChange={setName} />
      {ssoName && (
        <NativeSelect
          label="Sign-in method"
          description={usesSso ? `The username above must be the one at ${ssoName}` : undefined}
          data={[
            { value: 'regular', label: 'Password' },
            { value: 'sso', label: ssoName },
          ]}
          value={method}
          onChange={(event) => setMethod(event.currentTarget.value)}
        />
      )}
      {!usesSso && <PasswordField label="Password" value={password} onChange={setPassword} />}
      <RoleField value={role} onChange={setRole} />
    </SubmitDialog>
  );
}

export function ChangeUser({ user, onClose }: UserProps) {
  const invalidateAfter = useInvalidateUsers();
  const { data: users = [] } = useQuery(usersQuery);
  const { data: roles = [] } = useQuery(rolesQuery);
  const [name, setName] = useState(user.name);
  const [role, setRole] = useState(() => roleFormValue(user));
  const fixed = roleDeniedReason(user, useQuery(sessionQuery).data, users);
  const changes = {
    ...(name !== user.name && { name }),
    ...(role !== roleFormValue(user) && roleFields(role, roles)),
  };
  return (
    <SubmitDialog
      title={`Edit ${user.email}`}
      action="Save"
      disabled={!Object.keys(changes).length}
      onConfirm={() => invalidateAfter(changeUser(user.uid, changes))}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} autoFocus />
      <RoleField value={role} onChange={setRole} fixed={fixed} />
    </SubmitDialog>
  );
}

export function RemoveUser({ user, onClose }: UserProps) {
  const invalidateAfter = useInvalidateUsers();
  return (
    <ConfirmByTyping
      title={`Remove ${user.email}?`}
      warning={`${user.email} (${roleLabel(user.role)}) can no longer sign in. Open sessions and tokens end immediately. Events of this user are kept.`}
      name={user.email}
      action="Remove user"
      onConfirm={() => invalidateAfter(removeUser(user.uid))}
      onClose={onClose}
    />
  );
}

/** For the signed-in user, with any role. */
export function OwnPassword({ session, onClose }: CloseProps & { session: Session }) {
  const client = useQueryClient();
  const [password, setPassword] = useState('');
  const [repeated, setRepeated] = useState('');
  const change = async () => {
    await changeUser(session.uid, { password });
    await client.invalidateQueries({ queryKey: sessionQuery.queryKey });
  };
  return (
    <SubmitDialog
      title="Change your password"
      action="Change password"
      disabled={!password || password !== repeated}
      onConfirm={change}
      onClose={onClose}
    >
      <span>
        The old password becomes invalid. Your other sessions and your tokens end; you stay signed
        in here.
      </span>
      <PasswordField label="New password" value={password} onChange={setPassword} autoFocus />
      <PasswordInput
        label="Repeat password"
        autoComplete="new-password"
        required
        value={repeated}
        error={repeated && password !== repeated ? 'The passwords do not match' : undefined}
        onChange={(event) => setRepeated(event.currentTarget.value)}
      />
    </SubmitDialog>
  );
}

function NameField(props: {
  value: string;
  onChange: (value: string) => void;
  autoFocus?: boolean;
}) {
  return (
    <TextInput
      label="Name"
      description="Display name of the user"
      maxLength={254}
      autoComplete="off"
      data-autofocus={props.autoFocus}
      value={props.value}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    />
  );
}
