/** Dialogs to add, edit and remove roles and access lists. */
import { MultiSelect, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { removeAcl, removeRole, saveAcl, saveRole } from '@/api/access/roles';
import { sessionQuery } from '@/api/access/session';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import type { Acl, Role } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { databaseUidsOf, isLimitable, type Management, rolesFor } from '../roles';
import { useInvalidateUsers } from '../useInvalidateUsers';

interface CloseProps {
  onClose: () => void;
}

/** Adds a role if `role` is undefined. */
export function EditRole({ role, onClose }: CloseProps & { role?: Role }) {
  const invalidateAfter = useInvalidateUsers();
  const manager = useQuery(sessionQuery).data;
  const [name, setName] = useState(role?.name ?? '');
  const [management, setManagement] = useState(role?.management ?? 'none');
  const [bdbs, setBdbs] = useState(() => (role ? databaseUidsOf(role).map(String) : []));
  const [scope, setScope] = useState(bdbs.length ? 'some' : 'all');
  const isLimited = isLimitable(management) && scope === 'some';
  const resources = isLimited ? [{ type: 'db' as const, uids: bdbs.map(Number) }] : [];
  return (
    <SubmitDialog
      title={role ? `Edit role ${role.name}` : 'Add role'}
      action={role ? 'Save' : 'Add role'}
      disabled={!name.trim() || (isLimited && !bdbs.length)}
      onConfirm={() =>
        invalidateAfter(
          saveRole(role?.uid, { name, management: management as Management, resources }),
        )
      }
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="For example: cache writers"
        required
        maxLength={120}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <NativeSelect
        label="Management role"
        description="Permissions in the console; choose No access for users who only access data"
        data={rolesFor(manager).map(({ value, label }) => ({ value, label }))}
        value={management}
        onChange={(event) => setManagement(event.currentTarget.value)}
      />
      {isLimitable(management) && (
        <NativeSelect
          label="Applies to"
          data={[
            { value: 'all', label: 'All databases' },
            { value: 'some', label: 'Only these databases' },
          ]}
          value={scope}
          onChange={(event) => setScope(event.currentTarget.value)}
        />
      )}
      {isLimited && <Databases chosen={bdbs} onChange={setBdbs} />}
      <span>
        Access to data is set per database: <em>Change access…</em> on the Configuration tab of the
        database.
      </span>
    </SubmitDialog>
  );
}

/** Databases of a role. A deleted database can be removed from the selection, but not added again. */
function Databases(props: { chosen: string[]; onChange: (uids: string[]) => void }) {
  const { data: bdbs = [] } = useQuery(shownBdbsQuery);
  const known = bdbs.map(({ uid, name }) => ({ value: String(uid), label: name }));
  const deleted = props.chosen
    .filter((uid) => !known.some(({ value }) => value === uid))
    .map((uid) => ({ value: uid, label: `database ${uid} (deleted)` }));
  return (
    <MultiSelect
      label="Databases"
      description="Users of this role can view and change only these databases, and cannot create databases"
      placeholder={props.chosen.length ? undefined : 'Choose databases'}
      data={[...known, ...deleted]}
      value={props.chosen}
      onChange={props.onChange}
      searchable
      clearable
      hidePickedOptions
    />
  );
}

export function RemoveRole({ role, onClose }: CloseProps & { role: Role }) {
  const invalidateAfter = useInvalidateUsers();
  return (
    <SubmitDialog
      title={`Remove role ${role.name}?`}
      action="Remove role"
      onConfirm={() => invalidateAfter(removeRole(role.uid))}
      onClose={onClose}
    >
      <span>
        First, change the users who have this role and the databases that grant it access.
      </span>
    </SubmitDialog>
  );
}

/** Adds an access list if `acl` is undefined. */
export function EditAcl({ acl, onClose }: CloseProps & { acl?: Acl }) {
  const invalidateAfter = useInvalidateUsers();
  const [name, setName] = useState(acl?.name ?? '');
  const [rules, setRules] = useState(acl?.acl ?? '');
  return (
    <SubmitDialog
      title={acl ? `Edit access list ${acl.name}` : 'Add access list'}
      action={acl ? 'Save' : 'Add access list'}
      disabled={!name.trim() || !rules.trim()}
      onConfirm={() => invalidateAfter(saveAcl(acl?.uid, { name, acl: rules }))}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        required
        maxLength={120}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Textarea
        label="Rules"
        description="Commands such as +get or -get, categories such as +@read, keys such as ~cache:*, channels such as &news:*; later rules override earlier ones"
        required
        autosize
        minRows={2}
        maxLength={4096}
        value={rules}
        onChange={(event) => setRules(event.currentTarget.value)}
      />
      <span>
        {acl && 'All databases that use this list apply the change within seconds. '}
        Administrative commands of the engine (@admin) are never allowed.
      </span>
    </SubmitDialog>
  );
}

export function RemoveAcl({ acl, onClose }: CloseProps & { acl: Acl }) {
  const invalidateAfter = useInvalidateUsers();
  return (
    <SubmitDialog
      title={`Remove access list ${acl.name}?`}
      action="Remove access list"
      onConfirm={() => invalidateAfter(removeAcl(acl.uid))}
      onClose={onClose}
    >
      <span>First, change the databases that use this list.</span>
    </SubmitDialog>
  );
}
