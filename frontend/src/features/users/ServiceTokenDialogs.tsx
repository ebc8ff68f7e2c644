/** A new service token, and the one time at which it is shown. */
import { Button, Group, Modal, NativeSelect, Radio, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { createServiceToken } from '@/api/serviceTokens';
import { sessionQuery } from '@/api/session';
import type { MadeServiceToken } from '@/api/types';
import { Ask } from '@/ui/Ask';
import { CopyBlock } from '@/ui/Copy';
import { type Management, rolesFor } from './roles';
import classes from './users.module.css';

const DAY = 86_400;
const LIVES = [
  { value: String(30 * DAY), label: '30 days' },
  { value: String(90 * DAY), label: '90 days' },
  { value: String(365 * DAY), label: '365 days' },
  { value: '', label: 'Never' },
];

interface Adding {
  onMade: (made: MadeServiceToken) => Promise<void>;
  onClose: () => void;
}

export function AddServiceToken({ onMade, onClose }: Adding) {
  const manager = useQuery(sessionQuery).data;
  const [name, setName] = useState('');
  const [role, setRole] = useState<Management>('db_viewer');
  const [life, setLife] = useState(LIVES[1]?.value ?? '');
  const add = async () => {
    const wanted = { name: name.trim(), role, ...(life && { ttl: Number(life) }) };
    await onMade(await createServiceToken(wanted));
  };
  return (
    <Ask
      title="Add service token"
      action="Add token"
      disabled={!name.trim()}
      onConfirm={add}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description="What it is for; events show it"
        required
        maxLength={64}
        autoComplete="off"
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <Radio.Group label="Role" value={role} onChange={(chosen) => setRole(chosen as Management)}>
        <Stack gap={6} mt={6}>
          {rolesFor(manager)
            .filter(({ value }) => value !== 'none')
            .map(({ value, label, what }) => (
              <Radio
                key={value}
                value={value}
                label={
                  <>
                    {label}
                    <span className={classes.what}>{what}</span>
                  </>
                }
              />
            ))}
        </Stack>
      </Radio.Group>
      <NativeSelect
        label="Expires after"
        data={LIVES}
        value={life}
        onChange={(event) => setLife(event.currentTarget.value)}
      />
    </Ask>
  );
}

export function ShownOnce({ made, onClose }: { made: MadeServiceToken; onClose: () => void }) {
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Service token ${made.name}`}
      centered
      size="lg"
      closeOnClickOutside={false}
    >
      <Stack gap="sm">
        <span>This is the token. It is shown this once only: take it along now.</span>
        <CopyBlock text={made.token} label="Copy the token" />
        <span>A program sends it with every request:</span>
        <CopyBlock
          text={`curl -H 'Authorization: Bearer ${made.token}' ${window.location.origin}/v1/bdbs`}
          label="Copy the command"
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
