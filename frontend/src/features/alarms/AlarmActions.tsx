/** Actions for an active alarm: what to do, and its acknowledgement. */
import { Button, Group } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { withdrawAcknowledgement } from '@/api/alerting/acknowledgements';
import { healthQuery } from '@/api/alerting/health';
import type { LogEvent } from '@/api/types';
import { useDisconnectedReason } from '@/lib/connection';
import { useSubmit } from '@/ui/forms/useSubmit';
import { RunbookLink } from './RunbookLink';

interface Props {
  alarm: LogEvent;
  isAcknowledged: boolean;
  onEdit: () => void;
}

export function AlarmActions({ alarm, isAcknowledged, onEdit }: Props) {
  const client = useQueryClient();
  const may = usePermission('edit');
  const disconnected = useDisconnectedReason();
  const withdraw = useSubmit(async () => {
    await withdrawAcknowledgement(alarm.uid);
    await client.invalidateQueries({ queryKey: healthQuery.queryKey });
  });
  const reason = may ? (disconnected ?? withdraw.failure?.text) : ROLE_DENIED_TEXT;
  const button = {
    size: 'compact-xs',
    disabled: !may || disconnected !== undefined,
    title: reason,
  };
  return (
    <Group gap="xs" wrap="nowrap">
      <RunbookLink alarm={alarm} />
      <Button variant="default" {...button} onClick={onEdit}>
        {isAcknowledged ? 'Change…' : 'Acknowledge…'}
      </Button>
      {isAcknowledged && (
        <Button
          variant="subtle"
          {...button}
          loading={withdraw.busy}
          onClick={() => withdraw.submit()}
        >
          Withdraw
        </Button>
      )}
    </Group>
  );
}
