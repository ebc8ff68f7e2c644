/** Notifications page: receivers of notifications and alert thresholds. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { usePermission } from '@/api/access/session';
import { ClusterAlerts } from '@/features/alerts/ClusterAlerts';
import { AddWebhook } from '@/features/notifications/WebhookDialogs';
import { WebhookTable } from '@/features/notifications/WebhookTable';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import classes from './pages.module.css';

export function NotificationsPage() {
  const [adding, setAdding] = useState(false);
  if (!usePermission('administer')) {
    return (
      <EmptyState title="You cannot view notifications">
        <span>Only administrators can view and change the receivers of notifications.</span>
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
            <EmptyState title="No receivers yet">
              <span>
                Add a receiver to get a message when an alarm is raised and when it ends. A receiver
                is an email address, a webhook of a chat or on-call service, a Prometheus
                Alertmanager, or a syslog server.
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
