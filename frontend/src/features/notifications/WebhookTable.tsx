/** Table of the receivers of notifications, with their delivery status. */
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
import { changeWebhook, testWebhook, webhooksQuery } from '@/api/alerting/webhooks';
import { messageOf } from '@/api/http';
import type { Webhook } from '@/api/types';
import { Ago, Stamp } from '@/ui/Ago';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './notifications.module.css';
import { KINDS, messagesText, shownAddress, stateOf } from './receivers';
import { ChangeWebhook, RemoveWebhook } from './WebhookDialogs';

const DIALOGS = { change: ChangeWebhook, remove: RemoveWebhook } as const;

interface OpenDialog {
  dialog: keyof typeof DIALOGS;
  webhook: Webhook;
}

export function WebhookTable({ empty }: { empty: ReactNode }) {
  const client = useQueryClient();
  const { data, error } = useQuery(webhooksQuery);
  const [openDialog, setOpenDialog] = useState<OpenDialog | null>(null);
  const [result, setResult] = useState<{ ok: boolean; text: string } | null>(null);
  const columns = useMemo(() => {
    const reportResult = (work: Promise<unknown>, text: string) =>
      void work
        .then(() => setResult({ ok: true, text }))
        .catch((failure) => setResult({ ok: false, text: messageOf(failure) }))
        .finally(() => client.invalidateQueries({ queryKey: webhooksQuery.queryKey }));
    return columnsOf(setOpenDialog, reportResult);
  }, [client]);
  const Dialog = openDialog && DIALOGS[openDialog.dialog];
  if (!data && error) return <Alert color="red">{messageOf(error)}</Alert>;
  return (
    <>
      {result && (
        <Alert
          className={classes.result}
          color={result.ok ? 'green' : 'red'}
          role={result.ok ? 'status' : 'alert'}
          withCloseButton
          closeButtonLabel="Close"
          onClose={() => setResult(null)}
        >
          {result.text}
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
      {Dialog && <Dialog webhook={openDialog.webhook} onClose={() => setOpenDialog(null)} />}
    </>
  );
}

type ReportResult = (work: Promise<unknown>, text: string) => void;

function columnsOf(
  onOpen: (openDialog: OpenDialog) => void,
  reportResult: ReportResult,
): Column<Webhook>[] {
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
      header: 'Type',
      optional: true,
      sort: ({ kind }) => kind,
      cell: ({ kind }) => KINDS[kind].label,
    },
    { id: 'wants', header: 'Messages', cell: messagesText },
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
      header: 'Last sent',
      optional: true,
      cell: ({ last_told_time }) =>
        last_told_time === null ? 'Never' : <Ago time={last_told_time} />,
    },
    {
      id: 'menu',
      header: '',
      align: 'right',
      width: 48,
      cell: (webhook) => <Actions webhook={webhook} onOpen={onOpen} reportResult={reportResult} />,
    },
  ];
}

const MUTE_DURATIONS = [
  { minutes: 60, label: '1 hour' },
  { minutes: 8 * 60, label: '8 hours' },
] as const;

/** Not for Alertmanager, which has silences and resolves alerts that are no longer sent, and not for a copy of the audit log, which must be complete. */
const muteDurationsOf = ({ kind, events }: Webhook) =>
  kind === 'alertmanager' || events === 'audit' ? [] : MUTE_DURATIONS;

interface ActionsProps {
  webhook: Webhook;
  onOpen: (openDialog: OpenDialog) => void;
  reportResult: ReportResult;
}

function Actions({ webhook, onOpen, reportResult }: ActionsProps) {
  const { uid, name, enabled } = webhook;
  const mute = (minutes: number, text: string) =>
    reportResult(changeWebhook(uid, { silent_minutes: minutes }), text);
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
          onClick={() =>
            reportResult(testWebhook(uid), `The test message was delivered to ${name}.`)
          }
        >
          Send test message
        </Menu.Item>
        <Menu.Item
          leftSection={<IconEdit size={15} />}
          onClick={() => onOpen({ dialog: 'change', webhook })}
        >
          Edit…
        </Menu.Item>
        {webhook.silent_until === null ? (
          muteDurationsOf(webhook).map(({ minutes, label }) => (
            <Menu.Item
              key={minutes}
              leftSection={<IconBellOff size={15} />}
              onClick={() =>
                mute(
                  minutes,
                  `${name} is muted for ${label}. Alarms that are still active afterwards are sent then.`,
                )
              }
            >
              Mute for {label}
            </Menu.Item>
          ))
        ) : (
          <Menu.Item
            leftSection={<IconBellOff size={15} />}
            onClick={() => mute(0, `${name} is no longer muted.`)}
          >
            Unmute
          </Menu.Item>
        )}
        <Menu.Item
          leftSection={enabled ? <IconPlayerPause size={15} /> : <IconPlayerPlay size={15} />}
          onClick={() =>
            reportResult(
              changeWebhook(uid, { enabled: !enabled }),
              enabled
                ? `${name} gets no messages until you turn it on again.`
                : `${name} gets messages from now on.`,
            )
          }
        >
          {enabled ? 'Turn off' : 'Turn on'}
        </Menu.Item>
        <Menu.Item
          color="var(--broken)"
          leftSection={<IconTrash size={15} />}
          onClick={() => onOpen({ dialog: 'remove', webhook })}
        >
          Remove…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
