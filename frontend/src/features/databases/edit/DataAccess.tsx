/** Dialog for the roles that can access the data of a database, and the ACL rules of each role. */
import { ActionIcon, Alert, Button, NativeSelect } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { aclsQuery, rolesQuery } from '@/api/access/roles';
import { useUpdateBdb } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { Bdb, RolePermission } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import classes from '../databases.module.css';

export function DataAccess({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const update = useUpdateBdb(bdb.uid);
  const roles = useQuery(rolesQuery);
  const acls = useQuery(aclsQuery);
  const [rows, setRows] = useState<readonly RolePermission[]>(bdb.roles_permissions ?? []);
  const free =
    roles.data?.filter(({ uid }) => !rows.some(({ role_uid }) => role_uid === uid)) ?? [];
  const error = roles.error ?? acls.error;
  const change = (at: number, part: Partial<RolePermission>) =>
    setRows(rows.map((row, index) => (index === at ? { ...row, ...part } : row)));
  const options = (list: readonly { uid: number; name: string }[] = []) =>
    list.map(({ uid, name }) => ({ value: String(uid), label: name }));
  return (
    <SubmitDialog
      title={`Data access of ${bdb.name}`}
      action="Save"
      disabled={JSON.stringify(rows) === JSON.stringify(bdb.roles_permissions ?? [])}
      onConfirm={() => update({ roles_permissions: [...rows] })}
      onClose={onClose}
    >
      <span>
        Users with one of these roles authenticate to the database with their own name and password
        (AUTH name password). The rules define what they can do.{' '}
        {bdb.default_user === false
          ? 'Other users cannot authenticate.'
          : 'The default user still has full access.'}
      </span>
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {rows.map((row, at) => (
        <div key={row.role_uid} className={classes.permission}>
          <NativeSelect
            label={at ? undefined : 'Role'}
            aria-label="Role"
            data={options(
              roles.data?.filter(
                ({ uid }) => uid === row.role_uid || free.some((other) => other.uid === uid),
              ),
            )}
            value={String(row.role_uid)}
            onChange={(event) => change(at, { role_uid: Number(event.currentTarget.value) })}
          />
          <NativeSelect
            label={at ? undefined : 'Rules'}
            aria-label="Rules"
            data={options(acls.data)}
            value={String(row.redis_acl_uid)}
            onChange={(event) => change(at, { redis_acl_uid: Number(event.currentTarget.value) })}
          />
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label="Remove this role"
            onClick={() => setRows(rows.filter((_, index) => index !== at))}
          >
            <IconTrash size={16} />
          </ActionIcon>
        </div>
      ))}
      {!rows.length && <span className="dim">No role has access.</span>}
      <div>
        <Button
          variant="default"
          disabled={!free.length || !acls.data}
          onClick={() => {
            const role = free.at(-1);
            if (role) setRows([...rows, { role_uid: role.uid, redis_acl_uid: 1 }]);
          }}
        >
          Add role
        </Button>
      </div>
      <span className="dim">Create roles and access lists in Settings.</span>
    </SubmitDialog>
  );
}
