/** Who outside is told when something is wrong. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { useMay } from '@/api/session';
import { ClusterAlerts } from '@/features/alerts/ClusterAlerts';
import { AddWebhook } from '@/features/notifications/WebhookDialogs';
import { WebhookTable } from '@/features/notifications/WebhookTable';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import classes from './pages.module.css';

export function NotificationsPage() {
  const [adding, setAdding] = useState(false);
  if (!useMay('administer')) {
    return (
      <EmptyState title="Notifications are not shown to you">
        <span>Administrators see and change who is told when something is wrong.</span>
      </EmptyState>
    );
  }
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Notifications</h1>
        <Button onClick={() => setAdding(true)}>Add receiver</Button>
      </div>
      <Card flush>
        <WebhookTable
          empty={
            <EmptyState title="Nobody is told yet">
              <span>
                A receiver gets a message when an alarm is raised and when it ends: a mail address,
                a webhook of a chat or an on-call service, or an Alertmanager of Prometheus.
              </span>
            </EmptyState>
          }
        />
      </Card>
      <ClusterAlerts />
      {adding && <AddWebhook onClose={() => setAdding(false)} />}
    </div>
  );
}
