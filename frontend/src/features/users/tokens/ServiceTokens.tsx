/** Card with the service tokens of programs: list, add, remove. */
import { ActionIcon, Alert, Button } from '@mantine/core';
import { IconTrash } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { rolesQuery } from '@/api/access/roles';
import { removeServiceToken, serviceTokensQuery } from '@/api/access/serviceTokens';
import { sessionQuery } from '@/api/access/session';
import { messageOf } from '@/api/http';
import type { CreatedServiceToken, Role, ServiceToken } from '@/api/types';
import { Ago, Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { roleName } from '../roles';
import classes from '../users.module.css';
import { AddServiceToken, CreatedTokenDialog } from './ServiceTokenDialogs';

export function ServiceTokens() {
  const client = useQueryClient();
  const { data: tokens, error } = useQuery(serviceTokensQuery);
  const { data: session } = useQuery(sessionQuery);
  const { data: roles = [] } = useQuery(rolesQuery);
  const [adding, setAdding] = useState(false);
  const [created, setCreated] = useState<CreatedServiceToken | null>(null);
  const [removing, setRemoving] = useState<ServiceToken | null>(null);
  const reload = () => client.invalidateQueries({ queryKey: serviceTokensQuery.queryKey });
  return (
    <Card
      flush
      title="Service tokens"
      headerEnd={
        <Button variant="default" onClick={() => setAdding(true)}>
          Add service token
        </Button>
      }
    >
      {!tokens && error ? (
        <Alert color="red">{messageOf(error)}</Alert>
      ) : (
        <DataTable
          label="Service tokens"
          columns={columnsOf(session?.role === 'admin', roles, setRemoving)}
          rows={tokens}
          rowKey={({ uid }) => uid}
          initialSort={{ id: 'name' }}
          empty={
            <p className={classes.none}>
              No service tokens yet. Programs use service tokens to authenticate to the REST API. A
              token has only the role that the program needs, stays valid when a person leaves, and
              can be removed at any time.
            </p>
          }
        />
      )}
      {adding && (
        <AddServiceToken
          onCreated={async (token) => {
            setCreated(token);
            await reload();
          }}
          onClose={() => setAdding(false)}
        />
      )}
      {created && <CreatedTokenDialog created={created} onClose={() => setCreated(null)} />}
      {removing && (
        <ConfirmByTyping
          title={`Remove service token ${removing.name}?`}
          warning="Programs that use this token are rejected immediately."
          name={removing.name}
          action="Remove token"
          onConfirm={async () => {
            await removeServiceToken(removing.uid);
            await reload();
          }}
          onClose={() => setRemoving(null)}
        />
      )}
    </Card>
  );
}

function columnsOf(
  isAdmin: boolean,
  roles: readonly Role[],
  remove: (token: ServiceToken) => void,
): Column<ServiceToken>[] {
  return [
    { id: 'name', header: 'Name', sort: ({ name }) => name, cell: ({ name }) => name },
    {
      id: 'role',
      header: 'Role',
      sort: (token) => roleName(token, roles),
      cell: (token) => roleName(token, roles),
    },
    {
      id: 'expires',
      header: 'Expires',
      isTime: true,
      sort: ({ expires_at }) => expires_at ?? '~',
      cell: ({ expires_at, expired }) => {
        if (expired) return <Status tone="attention">Expired</Status>;
        return expires_at === null ? 'Never' : <Stamp time={expires_at} />;
      },
    },
    {
      id: 'used',
      header: 'Last used',
      sort: ({ last_used_at }) => last_used_at ?? '',
      cell: ({ last_used_at }) => (last_used_at === null ? 'Never' : <Ago time={last_used_at} />),
    },
    {
      id: 'by',
      header: 'Created by',
      optional: true,
      sort: ({ created_by }) => created_by,
      cell: ({ created_by }) => created_by,
    },
    {
      id: 'remove',
      header: '',
      align: 'right',
      width: 48,
      cell: (token) => {
        const may = isAdmin || token.role !== 'admin';
        return (
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Remove service token ${token.name}`}
            disabled={!may}
            title={
              may ? 'Remove' : 'Only administrators can remove tokens with the administrator role'
            }
            onClick={() => remove(token)}
          >
            <IconTrash size={16} />
          </ActionIcon>
        );
      },
    },
  ];
}
