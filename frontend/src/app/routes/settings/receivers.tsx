/** Receivers of notifications on the Settings page. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { AddWebhook } from '@/features/notifications/WebhookDialogs';
import { WebhookTable } from '@/features/notifications/WebhookTable';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';

export function Receivers() {
  const [adding, setAdding] = useState(false);
  return (
    <Card
      flush
      title="Receivers"
      headerEnd={
        <Button variant="default" onClick={() => setAdding(true)}>
          Add receiver
        </Button>
      }
    >
      <WebhookTable
        empty={
          <EmptyState title="No receivers yet">
            <span>
              Add a receiver to get a message when an alarm is raised and when it ends. A receiver
              is an email address, a webhook of a chat or on-call service, a Prometheus
              Alertmanager, or a syslog server.
            </span>
          </EmptyState>
        }
      />
      {adding && <AddWebhook onClose={() => setAdding(false)} />}
    </Card>
  );
}
