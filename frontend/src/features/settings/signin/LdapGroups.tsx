/** Groups of the directory and their roles, in order of precedence. */
import { ActionIcon, Alert, Button, Menu, NativeSelect, TextInput } from '@mantine/core';
import { IconDotsVertical, IconEdit, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ldapMappingsQuery, removeLdapMapping, saveLdapMapping } from '@/api/access/ldap';
import { messageOf } from '@/api/http';
import type { LdapMapping, Role } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../settings.module.css';

interface OpenDialog {
  dialog: 'save' | 'remove';
  /** Undefined for a new group. */
  row?: LdapMapping;
}

export function LdapGroups({ roles }: { roles: readonly Role[] }) {
  const { data: mappings, error } = useQuery(ldapMappingsQuery);
  const [openDialog, setOpenDialog] = useState<OpenDialog>();
  const close = () => setOpenDialog(undefined);
  if (!mappings && error) return <Alert color="red">{messageOf(error)}</Alert>;
  const roleOf = ({ role_uids: [uid] }: LdapMapping) =>
    roles.find((role) => role.uid === uid)?.name ?? `role ${uid}`;
  const columns: Column<LdapMapping>[] = [
    {
      id: 'name',
      header: 'Group',
      cell: ({ name, dn }) => (
        <div className={classes.group}>
          {name}
          <code>{dn}</code>
        </div>
      ),
    },
    { id: 'role', header: 'Role', cell: roleOf },
    {
      id: 'menu',
      header: '',
      align: 'right',
      width: 48,
      cell: (row) => <Actions row={row} onOpen={(dialog) => setOpenDialog({ dialog, row })} />,
    },
  ];
  return (
    <div className={classes.groups}>
      <DataTable
        label="Groups and their roles"
        columns={columns}
        rows={mappings}
        rowKey={({ uid }) => uid}
        empty={
          <Alert color="yellow">
            No group has a role yet, so users cannot sign in with LDAP. Add the groups whose members
            can sign in.
          </Alert>
        }
      />
      <Button variant="subtle" size="compact-sm" onClick={() => setOpenDialog({ dialog: 'save' })}>
        Add group…
      </Button>
      {openDialog?.dialog === 'save' && (
        <GroupDialog stored={openDialog.row} roles={roles} onClose={close} />
      )}
      {openDialog?.dialog === 'remove' && openDialog.row && (
        <RemoveGroup row={openDialog.row} role={roleOf(openDialog.row)} onClose={close} />
      )}
    </div>
  );
}

function Actions({
  row,
  onOpen,
}: {
  row: LdapMapping;
  onOpen: (dialog: 'save' | 'remove') => void;
}) {
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${row.name}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconEdit size={15} />} onClick={() => onOpen('save')}>
          Edit…
        </Menu.Item>
        <Menu.Item
          color="var(--broken)"
          leftSection={<IconTrash size={15} />}
          onClick={() => onOpen('remove')}
        >
          Remove…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

interface GroupProps {
  stored: LdapMapping | undefined;
  roles: readonly Role[];
  onClose: () => void;
}

function GroupDialog({ stored, roles, onClose }: GroupProps) {
  const invalidateAfter = useInvalidateAfter(ldapMappingsQuery);
  const [name, setName] = useState(stored?.name ?? '');
  const [dn, setDn] = useState(stored?.dn ?? '');
  const [role, setRole] = useState(`${stored?.role_uids[0] ?? ''}`);
  const mapping = { name: name.trim(), dn: dn.trim(), role_uids: [Number(role)] };
  return (
    <SubmitDialog
      title={stored ? `Edit ${stored.name}` : 'Add group'}
      action={stored ? 'Save' : 'Add'}
      disabled={!mapping.name || !mapping.dn || !role}
      onConfirm={() => invalidateAfter(saveLdapMapping(stored?.uid, mapping))}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="Name of the group in Shardboard"
        required
        maxLength={120}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextInput
        label="DN"
        description="DN of the group in the directory"
        placeholder="cn=dba,ou=groups,dc=example,dc=org"
        required
        maxLength={1000}
        spellCheck={false}
        value={dn}
        onChange={(event) => setDn(event.currentTarget.value)}
      />
      <NativeSelect
        label="Role"
        description="Users in several groups of the list get the role of the topmost group"
        data={[
          { value: '', label: 'Choose a role', disabled: true },
          ...roles.map(({ uid, name: label }) => ({ value: `${uid}`, label })),
        ]}
        value={role}
        onChange={(event) => setRole(event.currentTarget.value)}
      />
    </SubmitDialog>
  );
}

interface RemoveProps {
  row: LdapMapping;
  role: string;
  onClose: () => void;
}

function RemoveGroup({ row, role, onClose }: RemoveProps) {
  const invalidateAfter = useInvalidateAfter(ldapMappingsQuery);
  return (
    <SubmitDialog
      title={`Remove ${row.name}?`}
      action="Remove"
      severe
      onConfirm={() => invalidateAfter(removeLdapMapping(row.uid))}
      onClose={onClose}
    >
      <span>
        From the next sign-in, this group no longer grants the role {role}. Users who are in no
        other group of the list are then rejected and signed out everywhere.
      </span>
    </SubmitDialog>
  );
}
