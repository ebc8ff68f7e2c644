/** All webhooks: what they are told, and whether it arrives. */
import { ActionIcon, Alert, Menu } from '@mantine/core';
import {
  IconBellOff,
  IconDotsVertical,
  IconEdit,
  IconPlayerPause,
  IconPlayerPlay,
  IconSend,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { messageOf } from '@/api/http';
import type { Webhook } from '@/api/types';
import { changeWebhook, testWebhook, webhooksQuery } from '@/api/webhooks';
import { Ago, Stamp } from '@/ui/Ago';
import { type Column, DataTable } from '@/ui/DataTable';
import { Status } from '@/ui/Status';
import classes from './notifications.module.css';
import { ChangeWebhook, RemoveWebhook } from './WebhookDialogs';
import { KINDS, shownAddress, stateOf, wantsWord } from './words';

const DIALOGS = { change: ChangeWebhook, remove: RemoveWebhook } as const;

interface Asking {
  what: keyof typeof DIALOGS;
  webhook: Webhook;
}

export function WebhookTable({ empty }: { empty: ReactNode }) {
  const client = useQueryClient();
  const { data, error } = useQuery(webhooksQuery);
  const [asking, setAsking] = useState<Asking | null>(null);
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const columns = useMemo(() => {
    const tried = (work: Promise<unknown>, text: string) =>
      void work
        .then(() => setSaid({ ok: true, text }))
        .catch((failure) => setSaid({ ok: false, text: messageOf(failure) }))
        .finally(() => client.invalidateQueries({ queryKey: webhooksQuery.queryKey }));
    return columnsOf(setAsking, tried);
  }, [client]);
  const Dialog = asking && DIALOGS[asking.what];
  if (!data && error) return <Alert color="red">{messageOf(error)}</Alert>;
  return (
    <>
      {said && (
        <Alert
          className={classes.said}
          color={said.ok ? 'green' : 'red'}
          role={said.ok ? 'status' : 'alert'}
          withCloseButton
          closeButtonLabel="Close"
          onClose={() => setSaid(null)}
        >
          {said.text}
        </Alert>
      )}
      <DataTable
        label="Receivers"
        columns={columns}
        rows={data}
        rowKey={({ uid }) => uid}
        initialSort={{ id: 'name' }}
        empty={empty}
      />
      {Dialog && <Dialog webhook={asking.webhook} onClose={() => setAsking(null)} />}
    </>
  );
}

type Tried = (work: Promise<unknown>, text: string) => void;

function columnsOf(ask: (asking: Asking) => void, tried: Tried): Column<Webhook>[] {
  return [
    {
      id: 'name',
      header: 'Receiver',
      sort: ({ name }) => name,
      cell: ({ name, url }) => (
        <>
          {name}
          <span className={classes.url} title={shownAddress(url)}>
            {shownAddress(url)}
          </span>
        </>
      ),
    },
    {
      id: 'kind',
      header: 'Kind',
      optional: true,
      sort: ({ kind }) => kind,
      cell: ({ kind }) => KINDS[kind].label,
    },
    { id: 'wants', header: 'Tells of', cell: wantsWord },
    {
      id: 'state',
      header: 'State',
      cell: (webhook) => {
        const [tone, text] = stateOf(webhook);
        return (
          <>
            <Status tone={tone}>{text}</Status>
            {webhook.silent_until !== null && (
              <>
                {' '}
                until <Stamp time={webhook.silent_until} />
              </>
            )}
          </>
        );
      },
    },
    {
      id: 'told',
      header: 'Last told',
      optional: true,
      cell: ({ last_told_time }) =>
        last_told_time === null ? 'Never' : <Ago time={last_told_time} />,
    },
    {
      id: 'menu',
      header: '',
      align: 'right',
      width: 48,
      cell: (webhook) => <Actions webhook={webhook} ask={ask} tried={tried} />,
    },
  ];
}

const SILENCES = [
  { minutes: 60, label: 'an hour' },
  { minutes: 8 * 60, label: 'eight hours' },
] as const;

/** Alertmanager has its own, and takes what it is not told of for over; a copy of the audit trail has no gaps. */
const silencesOf = ({ kind, events }: Webhook) =>
  kind === 'alertmanager' || events === 'audit' ? [] : SILENCES;

interface ActionsProps {
  webhook: Webhook;
  ask: (asking: Asking) => void;
  tried: Tried;
}

function Actions({ webhook, ask, tried }: ActionsProps) {
  const { uid, name, enabled } = webhook;
  const silence = (minutes: number, text: string) =>
    tried(changeWebhook(uid, { silent_minutes: minutes }), text);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${name}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconSend size={15} />}
          onClick={() => tried(testWebhook(uid), `A test message arrived at ${name}.`)}
        >
          Send a test
        </Menu.Item>
        <Menu.Item
          leftSection={<IconEdit size={15} />}
          onClick={() => ask({ what: 'change', webhook })}
        >
          Change…
        </Menu.Item>
        {webhook.silent_until === null ? (
          silencesOf(webhook).map(({ minutes, label }) => (
            <Menu.Item
              key={minutes}
              leftSection={<IconBellOff size={15} />}
              onClick={() =>
                silence(minutes, `${name} is told of nothing for ${label}, then of what goes on.`)
              }
            >
              Silence for {label}
            </Menu.Item>
          ))
        ) : (
          <Menu.Item
            leftSection={<IconBellOff size={15} />}
            onClick={() => silence(0, `${name} is told again.`)}
          >
            End the silence
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={enabled ? <IconPlayerPause size={15} /> : <IconPlayerPlay size={15} />}
          onClick={() =>
            tried(
              changeWebhook(uid, { enabled: !enabled }),
              enabled
                ? `${name} is told of nothing until it is turned on again.`
                : `${name} is told of what happens from now on.`,
            )
          }
        >
          {enabled ? 'Turn off' : 'Turn on'}
        </Menu.Item>
        <Menu.Item
          color="var(--broken)"
          leftSection={<IconTrash size={15} />}
          onClick={() => ask({ what: 'remove', webhook })}
        >
          Remove…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
