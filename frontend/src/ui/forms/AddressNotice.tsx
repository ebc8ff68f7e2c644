/** Notice about endpoint addresses that an operation changes. Renders nothing if no address changes. */
import { Alert } from '@mantine/core';

interface Props {
  /** Undefined while the changes are unknown. */
  changes: readonly { bdb_uid: number; sentence: string }[] | undefined;
}

export function AddressNotice({ changes }: Props) {
  if (!changes?.length) return null;
  return (
    <Alert color="yellow" title={changes.length > 1 ? 'Addresses change' : 'An address changes'}>
      {changes.map(({ bdb_uid: uid, sentence }) => (
        <div key={uid}>{sentence}</div>
      ))}
    </Alert>
  );
}
