/** Dialogs to create a service token and to show it once. */
import { Button, Group, Modal, NativeSelect, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { rolesQuery } from '@/api/access/roles';
import { createServiceToken } from '@/api/access/serviceTokens';
import type { CreatedServiceToken } from '@/api/types';
import { CopyBlock } from '@/ui/Copy';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { RoleField } from '../RoleField';
import { roleFields } from '../roles';

const DAY = 86_400;
const LIFETIMES = [
  { value: String(30 * DAY), label: '30 days' },
  { value: String(90 * DAY), label: '90 days' },
  { value: String(365 * DAY), label: '365 days' },
  { value: '', label: 'Never' },
];

interface AddProps {
  onCreated: (created: CreatedServiceToken) => Promise<void>;
  onClose: () => void;
}

export function AddServiceToken({ onCreated, onClose }: AddProps) {
  const [name, setName] = useState('');
  const [role, setRole] = useState('db_viewer');
  const { data: roles = [] } = useQuery(rolesQuery);
  const [lifetime, setLifetime] = useState(LIFETIMES[1]?.value ?? '');
  const add = async () => {
    const token = {
      name: name.trim(),
      ...roleFields(role, roles),
      ...(lifetime && { ttl: Number(lifetime) }),
    };
    await onCreated(await createServiceToken(token));
  };
  return (
    <SubmitDialog
      title="Add service token"
      action="Add token"
      disabled={!name.trim()}
      onConfirm={add}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="The purpose of the token; shown in events"
        required
        maxLength={64}
        autoComplete="off"
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <RoleField value={role} onChange={setRole} excludedRole="none" />
      <NativeSelect
        label="Expires after"
        data={LIFETIMES}
        value={lifetime}
        onChange={(event) => setLifetime(event.currentTarget.value)}
      />
    </SubmitDialog>
  );
}

export function CreatedTokenDialog({
  created,
  onClose,
}: {
  created: CreatedServiceToken;
  onClose: () => void;
}) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Service token ${created.name}`}
      centered
      size="lg"
      closeOnClickOutside={false}
    >
      <Stack gap="sm">
        <span>Copy the token now. It is shown only once.</span>
        <CopyBlock text={created.token} label="Copy token" />
        <span>Programs send the token with each request:</span>
        <CopyBlock
          text={`curl -H 'Authorization: Bearer ${created.token}' ${window.location.origin}/v1/bdbs`}
          label="Copy command"
        />
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            Done
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
