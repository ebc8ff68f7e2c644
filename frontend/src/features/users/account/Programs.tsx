/** Programs on other machines that a user has signed in, such as `shardboard login --device`. Each can be signed out. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { removeServiceToken, serviceTokensQuery } from '@/api/access/serviceTokens';
import type { ServiceToken } from '@/api/types';
import { Ago, Stamp } from '@/ui/Ago';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { type Column, DataTable } from '@/ui/table/DataTable';

export function Programs({ userUid }: { userUid: number }) {
  const client = useQueryClient();
  const { data: tokens = [] } = useQuery(serviceTokensQuery);
  const { submit, busy, failure } = useSubmit(async (uid: number) => {
    await removeServiceToken(uid);
    await client.invalidateQueries({ queryKey: serviceTokensQuery.queryKey });
  });
  const programs = tokens.filter((token) => token.user_uid === userUid);
  if (programs.length === 0) return null;
  return (
    <>
      <span>Programs that were signed in with a code:</span>
      <DataTable
        label="Programs"
        columns={columnsOf(busy, submit)}
        rows={programs}
        rowKey={({ uid }) => uid}
        initialSort={{ id: 'began', descending: true }}
      />
      <RequestError failure={failure} />
    </>
  );
}

function columnsOf(busy: boolean, end: (uid: number) => void): Column<ServiceToken>[] {
  return [
    { id: 'name', header: 'Program', sort: ({ name }) => name, cell: ({ name }) => name },
    {
      id: 'began',
      header: 'Signed in',
      sort: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Stamp time={created_at} />,
    },
    {
      id: 'used',
      header: 'Last used',
      sort: ({ last_used_at }) => last_used_at ?? '',
      cell: ({ last_used_at }) => (last_used_at === null ? 'Never' : <Ago time={last_used_at} />),
    },
    {
      id: 'end',
      header: '',
      align: 'right',
      cell: ({ uid, name }) => (
        <SubmitButton
          variant="subtle"
          color="gray"
          size="compact-xs"
          disabled={busy}
          aria-label={`Sign out ${name}`}
          onClick={() => end(uid)}
        >
          Sign out
        </SubmitButton>
      ),
    },
  ];
}
