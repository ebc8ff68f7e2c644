/** Configuration tab of a database: its settings in groups or as JSON, with forms to change them. */
import { Button, Switch } from '@mantine/core';
import { IconKey, IconPencil, IconUsers } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import type { Bdb } from '@/api/types';
import { Card } from '@/ui/Card';
import { CopyButton } from '@/ui/Copy';
import { Facts } from '@/ui/Facts';
import classes from '../databases.module.css';
import { DataAccess } from './DataAccess';
import { DatabasePassword } from './DatabasePassword';
import { EditForm, hasStoredEdit } from './EditForm';
import { maskSecrets, settingGroups } from './settingGroups';

export function Configuration({ bdb, alerts }: { bdb: Bdb; alerts: ReactNode }) {
  const [editing, setEditing] = useState(() => hasStoredEdit(bdb.uid));
  const [raw, setRaw] = useState(false);
  const [dialog, setDialog] = useState<'password' | 'access' | null>(null);
  const may = usePermission('edit');
  const inactiveHint = bdb.status === 'active' ? undefined : 'Only active databases can be changed';
  const hint = may ? inactiveHint : ROLE_DENIED_TEXT;
  const json = JSON.stringify(maskSecrets(bdb), null, 2);
  return (
    <div className={classes.sections}>
      <div className={classes.buttons}>
        {!editing && (
          <Button
            variant="default"
            leftSection={<IconPencil size={14} />}
            disabled={!may || bdb.status !== 'active'}
            title={hint}
            onClick={() => setEditing(true)}
          >
            Edit
          </Button>
        )}
        <Button
          variant="default"
          leftSection={<IconKey size={14} />}
          disabled={!may || bdb.status !== 'active'}
          title={hint}
          onClick={() => setDialog('password')}
        >
          Change password…
        </Button>
        <Button
          variant="default"
          leftSection={<IconUsers size={14} />}
          disabled={!may || bdb.status !== 'active'}
          title={hint}
          onClick={() => setDialog('access')}
        >
          Change access…
        </Button>
        <Switch
          size="xs"
          label="Show as JSON"
          checked={raw}
          onChange={(event) => setRaw(event.currentTarget.checked)}
        />
      </div>
      {dialog === 'password' && <DatabasePassword bdb={bdb} onClose={() => setDialog(null)} />}
      {dialog === 'access' && <DataAccess bdb={bdb} onClose={() => setDialog(null)} />}
      {editing && <EditForm bdb={bdb} onClose={() => setEditing(false)} />}
      {raw ? (
        <Card
          title={`GET /v1/bdbs/${bdb.uid}`}
          headerEnd={<CopyButton text={json} label="Copy JSON" />}
          className={classes.json}
        >
          <pre>{json}</pre>
        </Card>
      ) : (
        <div className={classes.groups}>
          {settingGroups(bdb).map(({ title, facts }) => (
            <Card key={title} title={title}>
              <Facts items={facts} />
            </Card>
          ))}
          {alerts}
        </div>
      )}
    </div>
  );
}
