/** Dialog with the sessions of a user, which can be ended. */
import { Alert, Button, Group, Modal, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { endSession, endSessions, sessionsQuery } from '@/api/access/userSessions';
import { messageOf } from '@/api/http';
import type { UserSession } from '@/api/types';
import { Ago, Stamp } from '@/ui/Ago';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../users.module.css';
import { browserName } from './browserName';
import { Programs } from './Programs';

interface Props {
  user: { uid: number; email: string };
  /** Whether these are the sessions of the signed-in user. */
  own?: boolean;
  onClose: () => void;
}

export function Sessions({ user, own = false, onClose }: Props) {
  const client = useQueryClient();
  const query = sessionsQuery(user.uid);
  const { data: sessions, error } = useQuery(query);
  const { submit, busy, failure } = useSubmit(async (uid?: number) => {
    await (uid === undefined ? endSessions(user.uid) : endSession(user.uid, uid));
    await client.invalidateQueries({ queryKey: query.queryKey });
  });
  const others = sessions?.filter(({ current }) => !current).length ?? 0;
  return (
    <Modal
      opened
      onClose={onClose}
      title={own ? 'Your sessions' : `Sessions of ${user.email}`}
      centered
      size="xl"
    >
      <Stack gap="sm">
        <span>
          A session ends 12 hours after signing in. If you do not recognize a session, end it and
          change the password.
        </span>
        {!sessions && error ? (
          <Alert color="red">{messageOf(error)}</Alert>
        ) : (
          <DataTable
            label="Sessions"
            columns={columnsOf(busy, submit)}
            rows={sessions}
            rowKey={({ uid }) => uid}
            initialSort={{ id: 'began', descending: true }}
            empty={<p className={classes.none}>Not signed in anywhere.</p>}
          />
        )}
        <RequestError failure={failure} />
        <Programs userUid={user.uid} />
        <Group justify="flex-end" gap="xs">
          <SubmitButton
            variant="default"
            disabled={!others}
            loading={busy}
            onClick={() => submit()}
          >
            {own ? 'End all other sessions' : 'End all sessions'}
          </SubmitButton>
          <Button onClick={onClose}>Done</Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function columnsOf(busy: boolean, end: (uid: number) => void): Column<UserSession>[] {
  return [
    {
      id: 'browser',
      header: 'Browser',
      sort: ({ browser }) => browserName(browser),
      cell: ({ browser, current }) => (
        <span title={browser}>
          {browserName(browser)}
          {current && <span className="dim"> (current session)</span>}
        </span>
      ),
    },
    {
      id: 'address',
      header: 'From',
      sort: ({ address }) => address,
      cell: ({ address }) => address,
    },
    {
      id: 'began',
      header: 'Signed in',
      isTime: true,
      sort: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Stamp time={created_at} />,
    },
    {
      id: 'seen',
      header: 'Last used',
      sort: ({ last_seen_at }) => last_seen_at,
      cell: ({ last_seen_at }) => <Ago time={last_seen_at} />,
    },
    {
      id: 'end',
      header: '',
      align: 'right',
      cell: ({ uid, browser, address, current }) =>
        !current && (
          <SubmitButton
            variant="subtle"
            color="gray"
            size="compact-xs"
            disabled={busy}
            aria-label={`End the session of ${browserName(browser)} from ${address}`}
            onClick={() => end(uid)}
          >
            End
          </SubmitButton>
        ),
    },
  ];
}
